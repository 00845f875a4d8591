//! Reading the spec of a memory job.

use model::JobSpec;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, de::IntoDeserializer};

pub(super) fn number(job: &JobSpec, name: &str) -> Result<u64, String> {
    job.params.get(name).copied().ok_or_else(|| format!("{} needs a {name}", job.name))
}

pub(super) fn choice<'de, T: Deserialize<'de>>(job: &JobSpec, name: &str) -> Result<T, String> {
    let chosen = job.choices.get(name).map_or("", String::as_str);
    let reader: StrDeserializer<'_, Error> = chosen.into_deserializer();
    T::deserialize(reader).map_err(|_| format!("{name}={chosen:?} is not known"))
}
