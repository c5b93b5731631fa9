//! Whether a mirror is what it says: its digest, each content, each fragment, what it names, the signature.

use super::bundle::fragments;
use super::canonical::{content_digest, digest_of};
use super::checkpoint::Checkpoint;
use super::note::PublicKey;
use crate::model::Action;
use crate::model::mirror::{MIRROR_FORMAT, Mirror, SignedMirror};
use std::collections::BTreeSet;

/// Checks a mirror whole. Without a `key` that came another way, the one in it is used: then nothing is proven of who made it.
///
/// # Errors
/// What does not fit, a lower-case fragment.
pub fn check(signed: &SignedMirror, key: Option<&PublicKey>) -> Result<(), String> {
    let SignedMirror { mirror, digest: stated, checkpoint, key: named } = signed;
    if mirror.format != MIRROR_FORMAT {
        return Err(format!("the mirror has the format {:?}; this program reads {MIRROR_FORMAT}", mirror.format));
    }
    let computed = digest_of(mirror);
    if computed != *stated {
        return Err(format!("the mirror hashes to {computed}, not to {stated}"));
    }
    contents(mirror)?;
    let named = named.parse::<PublicKey>().map_err(|why| format!("the mirror's key: {why}"))?;
    let signed = Checkpoint::open(checkpoint, key.unwrap_or(&named)).map_err(|why| format!("the mirror's signature: {why}"))?;
    if signed.registry != mirror.registry || signed.head != mirror.head || signed.mirror != Some(computed) {
        return Err("the mirror's checkpoint was signed for another mirror".into());
    }
    Ok(())
}

fn contents(mirror: &Mirror) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for key in &mirror.keys {
        let id = &key.key.key_id;
        if key.key.confidential || !seen.insert(id) {
            return Err(format!("{id} does not belong in a mirror, or stands in it twice"));
        }
        if let Some(strange) = key.pointers.iter().find(|pointer| pointer.key_id != *id) {
            return Err(format!("{id} comes with a pointer of {}", strange.key_id));
        }
        for digest in key.named() {
            let content =
                mirror.contents.get(&digest).ok_or_else(|| format!("{id} names {digest}, which is not in the mirror"))?;
            if content.key != *id {
                return Err(format!("{id} names {digest}, which is a content of {}", content.key));
            }
        }
    }
    for (digest, content) in &mirror.contents {
        let computed = content_digest(content);
        if computed != *digest {
            return Err(format!("the content of {digest} hashes to {computed}"));
        }
        fragments(&mirror.fragments, content)?;
    }
    Ok(())
}

/// Whether an act can change a mirror. What is not known to change nothing, does.
pub fn changes(action: Action) -> bool {
    !matches!(
        action,
        Action::VersionDraft
            | Action::VersionSubmit
            | Action::VersionAuthor
            | Action::VersionDiscard
            | Action::VerdictRecord
            | Action::FragmentCreate
            | Action::PromotionOpen
            | Action::PromotionApprove
            | Action::PromotionWithdraw
            | Action::PromotionRenew
            | Action::PromotionExpire
            | Action::PromotionReview
            | Action::PromotionNote
            | Action::WebhookCreate
            | Action::WebhookDelete
            | Action::WebhookRetry
            | Action::AccessDenied
            | Action::ContentRead
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bundle::BundledFragment;
    use crate::model::mirror::MirroredKey;
    use crate::model::{BasisPoints, ChainHead, ConfigKey, Content, Digest, EnvironmentPointer, Format, Timestamp, UnitType};
    use crate::rules::canonical::fragment_digest;
    use crate::rules::checkpoint::origin;
    use crate::rules::note::Signer;
    use std::collections::BTreeMap;

    const REGISTRY: Digest = Digest([4; 32]);
    const HEAD: ChainHead = ChainHead { seq: 412, event_id: Digest([9; 32]), at: Timestamp(0) };

    fn mirror() -> Mirror {
        let tone = fragment_digest("tone", "Be kind.");
        let content = Content {
            key: "support.greeting".parse().unwrap(),
            format: Format::Template,
            body: "{% include \"tone\" %}".into(),
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: BTreeMap::from([("tone".to_owned(), tone)]),
            variables: Vec::new(),
            schema: 1,
        };
        let digest = content_digest(&content);
        let key = ConfigKey {
            key_id: content.key.clone(),
            namespace: "support".into(),
            owning_group: "owners".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest: None,
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        };
        let pointer = EnvironmentPointer {
            key_id: content.key.clone(),
            environment: "production".parse().unwrap(),
            digest,
            rollout_pct: BasisPoints::ALL,
            killed: false,
            updated_at: Timestamp(0),
            revision: 1,
            baseline_digest: None,
            held: false,
            plan: Vec::new(),
            next_step_at: None,
        };
        let key = MirroredKey { key, pointers: vec![pointer], quarantined: Vec::new(), distrusted: Vec::new() };
        Mirror {
            format: MIRROR_FORMAT.into(),
            registry: REGISTRY,
            name: "test".into(),
            head: HEAD,
            made_at: Timestamp(0),
            pepper: Digest([1; 32]),
            environments: vec!["production".into()],
            grants: Vec::new(),
            groups: BTreeMap::new(),
            tokens: Vec::new(),
            keys: vec![key],
            contents: BTreeMap::from([(digest, content)]),
            fragments: BTreeMap::from([(tone, BundledFragment { name: "tone".into(), body: "Be kind.".into() })]),
        }
    }

    fn sign(mirror: Mirror, seed: u8) -> SignedMirror {
        let signer = Signer::new(&[seed; 32]);
        let digest = digest_of(&mirror);
        let checkpoint = Checkpoint { registry: REGISTRY, head: HEAD, bundle: None, mirror: Some(digest) }.sign(&signer);
        SignedMirror { mirror, digest, checkpoint, key: signer.public(&origin(&REGISTRY)).to_string() }
    }

    #[test]
    fn a_mirror_proves_itself_and_survives_json() {
        let whole = sign(mirror(), 7);
        let key = Signer::new(&[7; 32]).public(&origin(&REGISTRY));
        let again: SignedMirror = serde_json::from_slice(&serde_json::to_vec(&whole).unwrap()).unwrap();
        assert_eq!((check(&again, Some(&key)), &again), (Ok(()), &whole));
    }

    #[test]
    fn whatever_is_changed_is_found_even_where_it_was_signed_so() {
        let key = Signer::new(&[7; 32]).public(&origin(&REGISTRY));
        let body = |mirror: &mut Mirror| mirror.contents.values_mut().for_each(|content| content.body = "other".into());
        let tone = |mirror: &mut Mirror| mirror.fragments.values_mut().for_each(|fragment| fragment.body = "Be rude.".into());
        let gone = |mirror: &mut Mirror| mirror.contents.clear();
        let secret = |mirror: &mut Mirror| mirror.keys[0].key.confidential = true;
        let twice = |mirror: &mut Mirror| mirror.keys.push(mirror.keys[0].clone());
        let foreign = |mirror: &mut Mirror| mirror.keys[0].pointers[0].key_id = "search.rank".parse().unwrap();
        let borrowed = |mirror: &mut Mirror| {
            mirror.keys[0].key.key_id = "search.rank".parse().unwrap();
            mirror.keys[0].pointers.clear();
            mirror.keys[0].key.safe_default_digest = mirror.contents.keys().next().copied();
        };
        let later = |mirror: &mut Mirror| mirror.head.seq += 1;
        for (change, complaint) in [
            (&body as &dyn Fn(&mut Mirror), "the content of"),
            (&tone, "the fragment tone hashes"),
            (&gone, "not in the mirror"),
            (&secret, "does not belong"),
            (&twice, "stands in it twice"),
            (&foreign, "a pointer of search.rank"),
            (&borrowed, "a content of support.greeting"),
            (&later, "another mirror"),
        ] {
            let mut changed = mirror();
            change(&mut changed);
            let unsigned = SignedMirror { mirror: changed.clone(), ..sign(mirror(), 7) };
            assert!(check(&unsigned, Some(&key)).unwrap_err().contains("the mirror hashes to"), "{complaint}");
            let resigned = check(&sign(changed, 7), Some(&key)).unwrap_err();
            assert!(resigned.contains(complaint), "{resigned}");
        }
        let stranger = check(&sign(mirror(), 8), Some(&key)).unwrap_err();
        assert!(stranger.contains("not signed by"), "{stranger}");
        assert_eq!(check(&sign(mirror(), 8), None), Ok(()), "without a key of one's own, whoever signed is believed");
    }

    #[test]
    fn what_moves_a_pointer_a_key_a_mark_a_token_or_the_policy_changes_a_mirror() {
        let quiet = Action::ALL.iter().filter(|action| !changes(**action)).count();
        assert_eq!(quiet, 18);
        for action in Action::ALL {
            let name = action.as_str();
            let moves = ["pointer.", "key.", "policy.", "token.", "registry."].iter().any(|kind| name.starts_with(kind));
            let marks = matches!(action, Action::VersionQuarantine | Action::VersionLift | Action::PromotionApply);
            assert!(!(moves || marks) || changes(*action), "{name}");
        }
    }
}
