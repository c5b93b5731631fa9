//! How model types stand in columns: names as TEXT, moments as BIGINT, shares as INTEGER, lists as JSON in TEXT.

use crate::model::webhook::{DeliveryState, Shape};
use crate::model::{
    Act, Action, Actor, BasisPoints, Digest, Environment, ExperimentState, Format, GateStatus, KeyId, KillReason, PromotionKind,
    PromotionState, Scope, Timestamp, UnitType, Verdict, VersionState,
};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Encode, Type};
use uuid::Uuid;

macro_rules! text_column {
    ($($t:ty),+ $(,)?) => { $(
        impl<D: Database> Type<D> for $t where String: Type<D> {
            fn type_info() -> D::TypeInfo {
                <String as Type<D>>::type_info()
            }
            fn compatible(ty: &D::TypeInfo) -> bool {
                <String as Type<D>>::compatible(ty)
            }
        }
        impl<'q, D: Database> Encode<'q, D> for $t where String: Encode<'q, D> {
            fn encode_by_ref(&self, buf: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
                self.to_string().encode(buf)
            }
        }
        impl<'r, D: Database> Decode<'r, D> for $t where &'r str: Decode<'r, D> {
            fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
                Ok(<&'r str as Decode<'r, D>>::decode(value)?.parse()?)
            }
        }
    )+ };
}

/// A UUID as TEXT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id(pub Uuid);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
impl std::str::FromStr for Id {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

text_column!(
    Digest,
    KeyId,
    Environment,
    Actor,
    Act,
    Action,
    PromotionKind,
    PromotionState,
    KillReason,
    Verdict,
    GateStatus,
    Scope,
    VersionState,
    UnitType,
    ExperimentState,
    Format,
    DeliveryState,
    Shape,
    Id
);

macro_rules! number_column {
    ($t:ty, $n:ty, $to:expr, $from:expr) => {
        impl<D: Database> Type<D> for $t
        where
            $n: Type<D>,
        {
            fn type_info() -> D::TypeInfo {
                <$n as Type<D>>::type_info()
            }
            fn compatible(ty: &D::TypeInfo) -> bool {
                <$n as Type<D>>::compatible(ty)
            }
        }
        impl<'q, D: Database> Encode<'q, D> for $t
        where
            $n: Encode<'q, D>,
        {
            fn encode_by_ref(&self, buf: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
                let number: $n = $to(*self);
                number.encode(buf)
            }
        }
        impl<'r, D: Database> Decode<'r, D> for $t
        where
            $n: Decode<'r, D>,
        {
            fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
                $from(<$n as Decode<'r, D>>::decode(value)?)
            }
        }
    };
}

number_column!(Timestamp, i64, |t: Timestamp| t.0, |n| Ok(Timestamp(n)));
number_column!(BasisPoints, i32, |b: BasisPoints| i32::from(b.get()), |n: i32| Ok(BasisPoints::new(u16::try_from(n)?)?));

/// Anything with serde as JSON in TEXT (U+0000 stands escaped in it).
#[derive(Debug, Clone)]
pub(super) struct AsJson<T>(pub T);

impl<T, D: Database> Type<D> for AsJson<T>
where
    String: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        <String as Type<D>>::type_info()
    }
    fn compatible(ty: &D::TypeInfo) -> bool {
        <String as Type<D>>::compatible(ty)
    }
}
impl<'q, T: Serialize, D: Database> Encode<'q, D> for AsJson<T>
where
    String: Encode<'q, D>,
{
    fn encode_by_ref(&self, buf: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        serde_json::to_string(&self.0)?.encode(buf)
    }
}
impl<'r, T: DeserializeOwned, D: Database> Decode<'r, D> for AsJson<T>
where
    &'r str: Decode<'r, D>,
{
    fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(serde_json::from_str(<&'r str as Decode<'r, D>>::decode(value)?)?))
    }
}

/// `LIMIT` as the engines want it.
pub(super) fn limit(rows: u32) -> i64 {
    i64::from(rows)
}
