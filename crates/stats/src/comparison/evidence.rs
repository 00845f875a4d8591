//! What one method says about every ratio that might be the true one.

use super::Pairing;
use crate::hodges_lehmann::pairwise_inversion;
use crate::log_ratio::LogRatio;
use crate::rank_inversion::{Inversion, RankInversion};
use crate::signed_rank::walsh_inversion;

/// A method's answer.
pub(super) enum Evidence {
    Ranks(RankInversion),
    T(LogRatio),
}

impl Evidence {
    pub(super) fn test(&self) -> &dyn Inversion {
        match self {
            Self::Ranks(ranks) => ranks,
            Self::T(t) => t,
        }
    }

    /// By ranks, of the values of both arms.
    pub(super) fn by_ranks(
        (first, second): &(Vec<f64>, Vec<f64>),
        pairing: Pairing,
    ) -> Option<Self> {
        let found = match pairing {
            Pairing::Unpaired => pairwise_inversion(first, second),
            Pairing::Paired => walsh_inversion(first, second),
        };
        found.map(Self::Ranks)
    }
}
