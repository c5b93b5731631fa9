//! What can be verified without this server: checkpoints, the key that signs them, bundles.

use crate::model::bundle::{BUNDLE_FORMAT, Bundle, BundledFragment, BundledKey, SignedBundle};
use crate::model::{ConfigKey, Environment, Refusal};
use crate::rules::access::{Caller, Need, allowed};
use crate::rules::{bundle, canonical};
use crate::server::App;
use crate::server::apart::apart;
use crate::server::extract::{Names, NoQuery};
use crate::server::outside::registry;
use crate::server::respond::{Answer, shown};
use crate::snapshot::{Servable, Snapshot};
use crate::wire::world::AuditKey;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse as _;

/// GET /v1/audit/checkpoint: a signed note.
pub async fn checkpoint(State(app): State<App>, _caller: Caller, _: NoQuery) -> Answer {
    let (_, note) = app.outside.checkpoint(&app.registry.snapshot.get(), None)?;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, plain)], note).into_response())
}

/// GET /v1/audit/key
pub async fn key(State(app): State<App>, _caller: Caller, _: NoQuery) -> Answer {
    Ok(shown(&AuditKey { key: app.outside.key(&app.registry.snapshot.get())?.to_string() }))
}

/// GET /v1/environments/{environment}/bundle: what the caller may resolve there, but confidential keys.
pub async fn bundle(State(app): State<App>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let environment: Environment = names.get("environment")?;
    let snapshot = app.registry.snapshot.get();
    if !snapshot.policy().environments.iter().any(|known| known.name == environment.as_str()) {
        return Err(Refusal::not_found().into());
    }
    let mut bundle = Bundle {
        format: BUNDLE_FORMAT.to_owned(),
        registry: registry(&snapshot)?,
        environment: environment.clone(),
        seq: snapshot.head().seq,
        made_at: app.registry.clock.now(),
        keys: std::collections::BTreeMap::new(),
        contents: std::collections::BTreeMap::new(),
        fragments: std::collections::BTreeMap::new(),
    };
    // Everything that serves is copied, hashed and written out.
    let signed = apart(move || {
        for key in snapshot.keys().filter(|key| may_take(&snapshot, &caller, key, &environment)) {
            add(&mut bundle, &snapshot, key)?;
        }
        let digest = bundle::digest(&bundle);
        let (_, checkpoint) = app.outside.checkpoint(&snapshot, Some((environment, digest)))?;
        Ok::<_, Refusal>(shown(&SignedBundle { bundle, digest, checkpoint, key: app.outside.key(&snapshot)?.to_string() }))
    });
    Ok(signed.await??)
}

fn may_take(snapshot: &Snapshot, caller: &Caller, key: &ConfigKey, environment: &Environment) -> bool {
    !key.confidential && allowed(snapshot.policy(), caller, Need::Resolve, Some(key), Some(environment)).is_ok()
}

/// What a key serves to a reader without a unit, with the content that it names.
fn add(bundle: &mut Bundle, snapshot: &Snapshot, key: &ConfigKey) -> Result<(), Refusal> {
    let Some(choice) = snapshot.resolve(&key.key_id, &bundle.environment, None, false)? else { return Ok(()) };
    let served = BundledKey {
        digest: choice.served.map(|served| served.digest),
        reason: choice.reason,
        revision: choice.pointer.revision,
        killed: choice.pointer.killed,
        unit_type: key.unit_type,
    };
    bundle.keys.insert(key.key_id.clone(), served);
    let Some(Servable { digest, content, fragments, .. }) = choice.served else { return Ok(()) };
    bundle.contents.insert(*digest, content.clone());
    for (name, body) in fragments {
        let fragment = BundledFragment { name: name.clone(), body: body.clone() };
        bundle.fragments.insert(canonical::fragment_digest(name, body), fragment);
    }
    Ok(())
}
