//! Rows of `oidc_sight`: the groups of each person as an issuer said them last.

use super::codec::AsJson;
use super::db::Conn;
use super::error::StorageError;
use crate::model::oidc::OidcSight;

const PUT: &str = "INSERT INTO oidc_sight (actor, issuer, groups, at) VALUES ($1, $2, $3, $4) ON CONFLICT (actor) DO UPDATE \
    SET issuer = excluded.issuer, groups = excluded.groups, at = excluded.at WHERE oidc_sight.at < excluded.at";
const ALL_ROWS: &str = "SELECT actor, issuer, groups, at FROM oidc_sight ORDER BY actor";

pub(super) const ALL: &[&str] = &[PUT, ALL_ROWS];

decode!(OidcSight, r => Ok(Self {
    actor: r.try_get("actor")?,
    issuer: r.try_get("issuer")?,
    groups: r.try_get::<AsJson<Vec<String>>, _>("groups")?.0,
    at: r.try_get("at")?,
}));

impl Conn<'_> {
    /// Keeps what an issuer said of a person, unless something newer is kept.
    pub async fn sight_put(&mut self, sight: &OidcSight) -> Result<(), StorageError> {
        run!(self, PUT, &sight.actor, &sight.issuer, AsJson(&sight.groups), sight.at).map(drop)
    }

    /// Everything that was said, by person.
    pub async fn sight_all(&mut self) -> Result<Vec<OidcSight>, StorageError> {
        rows!(self, ALL_ROWS)
    }
}
