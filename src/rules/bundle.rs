//! Whether a bundle is what it says: its digest, each content, each fragment, the signature.

use super::canonical::{content_digest, digest_of, fragment_digest};
use super::checkpoint::Checkpoint;
use super::note::PublicKey;
use crate::model::bundle::{BUNDLE_FORMAT, Bundle, BundledFragment, SignedBundle};
use crate::model::{Content, Digest};
use std::collections::BTreeMap;

/// The digest of a bundle: SHA-256 of its canonical JSON.
pub fn digest(bundle: &Bundle) -> Digest {
    digest_of(bundle)
}

/// Checks a bundle whole. Without a `key` that came another way, the one in it is used: then nothing is proven of who made it.
///
/// # Errors
/// What does not fit, a lower-case fragment.
pub fn check(signed: &SignedBundle, key: Option<&PublicKey>) -> Result<(), String> {
    let SignedBundle { bundle, digest: stated, checkpoint, key: named } = signed;
    if bundle.format != BUNDLE_FORMAT {
        return Err(format!("the bundle has the format {:?}; this program reads {BUNDLE_FORMAT}", bundle.format));
    }
    let computed = digest(bundle);
    if computed != *stated {
        return Err(format!("the bundle hashes to {computed}, not to {stated}"));
    }
    contents(bundle)?;
    let named = named.parse::<PublicKey>().map_err(|why| format!("the bundle's key: {why}"))?;
    let signed = Checkpoint::open(checkpoint, key.unwrap_or(&named)).map_err(|why| format!("the bundle's signature: {why}"))?;
    let same = signed.registry == bundle.registry && signed.head.seq == bundle.seq;
    if !same || signed.bundle.as_ref() != Some(&(bundle.environment.clone(), computed)) {
        return Err("the bundle's checkpoint was signed for another bundle".into());
    }
    Ok(())
}

fn contents(bundle: &Bundle) -> Result<(), String> {
    for (key, served) in &bundle.keys {
        let Some(digest) = &served.digest else { continue };
        let content = bundle.contents.get(digest).ok_or_else(|| format!("{key} serves {digest}, which is not in the bundle"))?;
        if content.key != *key {
            return Err(format!("{key} serves {digest}, which is a content of {}", content.key));
        }
    }
    for (digest, content) in &bundle.contents {
        let computed = content_digest(content);
        if computed != *digest {
            return Err(format!("the content of {digest} hashes to {computed}"));
        }
        fragments(&bundle.fragments, content)?;
    }
    Ok(())
}

/// The fragments that a content pins are there, each under its own digest.
pub(super) fn fragments(held: &BTreeMap<Digest, BundledFragment>, content: &Content) -> Result<(), String> {
    for (name, pinned) in &content.fragments {
        let fragment = held.get(pinned).ok_or_else(|| format!("the fragment {name} at {pinned} is missing"))?;
        let computed = fragment_digest(&fragment.name, &fragment.body);
        if fragment.name != *name || computed != *pinned {
            return Err(format!("the fragment {name} hashes to {computed}, not to {pinned}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bundle::BundledKey;
    use crate::model::{ChainHead, Environment, Format, ResolutionReason, Timestamp, UnitType};
    use crate::rules::checkpoint::origin;
    use crate::rules::note::Signer;

    const REGISTRY: Digest = Digest([4; 32]);

    fn signed(seed: u8) -> SignedBundle {
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
        let served = content_digest(&content);
        let key = BundledKey {
            digest: Some(served),
            reason: ResolutionReason::Static,
            revision: 1,
            killed: false,
            unit_type: UnitType::User,
        };
        let environment: Environment = "production".parse().unwrap();
        let bundle = Bundle {
            format: BUNDLE_FORMAT.into(),
            registry: REGISTRY,
            environment: environment.clone(),
            seq: 412,
            made_at: Timestamp(0),
            keys: BTreeMap::from([(content.key.clone(), key)]),
            contents: BTreeMap::from([(served, content)]),
            fragments: BTreeMap::from([(tone, BundledFragment { name: "tone".into(), body: "Be kind.".into() })]),
        };
        sign(bundle, seed)
    }

    fn sign(bundle: Bundle, seed: u8) -> SignedBundle {
        let signer = Signer::new(&[seed; 32]);
        let head = ChainHead { seq: 412, event_id: Digest([9; 32]), at: Timestamp(0) };
        let digest = digest(&bundle);
        let checkpoint =
            Checkpoint { registry: REGISTRY, head, bundle: Some((bundle.environment.clone(), digest)), mirror: None };
        let checkpoint = checkpoint.sign(&signer);
        SignedBundle { bundle, digest, checkpoint, key: signer.public(&origin(&REGISTRY)).to_string() }
    }

    #[test]
    fn a_bundle_proves_itself_and_survives_json() {
        let whole = signed(7);
        let key = Signer::new(&[7; 32]).public(&origin(&REGISTRY));
        let again: SignedBundle = serde_json::from_slice(&serde_json::to_vec(&whole).unwrap()).unwrap();
        assert_eq!((check(&again, Some(&key)), &again), (Ok(()), &whole));
    }

    #[test]
    fn whatever_is_changed_is_found() {
        let key = Signer::new(&[7; 32]).public(&origin(&REGISTRY));
        let body = |bundle: &mut Bundle| bundle.contents.values_mut().for_each(|content| content.body = "other".into());
        let tone = |bundle: &mut Bundle| bundle.fragments.values_mut().for_each(|fragment| fragment.body = "Be rude.".into());
        let gone = |bundle: &mut Bundle| bundle.fragments.clear();
        let other = |bundle: &mut Bundle| bundle.keys.values_mut().for_each(|served| served.digest = Some(Digest([1; 32])));
        let later = |bundle: &mut Bundle| bundle.seq += 1;
        for (change, complaint) in [
            (&body as &dyn Fn(&mut Bundle), "the content of"),
            (&tone, "the fragment tone hashes"),
            (&gone, "is missing"),
            (&other, "not in the bundle"),
            (&later, "another bundle"),
        ] {
            let mut bundle = signed(7).bundle;
            change(&mut bundle);
            let unsigned = SignedBundle { bundle: bundle.clone(), ..signed(7) };
            assert!(check(&unsigned, Some(&key)).unwrap_err().contains("the bundle hashes to"));
            let resigned = check(&sign(bundle, 7), Some(&key)).unwrap_err();
            assert!(resigned.contains(complaint), "{resigned}");
        }
        let stranger = check(&signed(8), Some(&key)).unwrap_err();
        assert!(stranger.contains("not signed by"), "{stranger}");
        assert_eq!(check(&signed(8), None), Ok(()), "without a key of one's own, whoever signed is believed");
        let swapped = SignedBundle { checkpoint: sign(Bundle { seq: 1, ..signed(7).bundle }, 7).checkpoint, ..signed(7) };
        assert!(check(&swapped, Some(&key)).unwrap_err().contains("another bundle"));
    }
}
