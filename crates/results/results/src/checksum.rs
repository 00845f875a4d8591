//! A file's checksum from hashes of its chunks. In BLAKE3's tree, a chunk whose size is a power of
//! two is a subtree if its offset is a multiple of its size.

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};

/// The hash of a chunk at this offset; `None` if it is empty.
pub(crate) fn hashed(piece: &[u8], offset: u64) -> Option<Box<Hasher>> {
    let mut hasher = Box::new(Hasher::new());
    hasher.set_input_offset(offset);
    hasher.update(piece);
    (!piece.is_empty()).then_some(hasher)
}

/// The hash of a file of these chunks: equal powers of two in size except the last.
pub(crate) fn whole(pieces: &[Hasher]) -> blake3::Hash {
    if let [only] = pieces {
        return only.finalize();
    }
    let parts: Vec<ChainingValue> = pieces.iter().map(|piece| piece.finalize_non_root()).collect();
    match halves(&parts) {
        Some((left, right)) => merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash),
        None => blake3::hash(&[]),
    }
}

fn subtree(parts: &[ChainingValue]) -> ChainingValue {
    match halves(parts) {
        Some((left, right)) => merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash),
        None => parts.first().copied().unwrap_or_default(),
    }
}

/// The two subtrees; the left one has the largest possible power of two of the parts.
fn halves(parts: &[ChainingValue]) -> Option<(&[ChainingValue], &[ChainingValue])> {
    let largest = parts.len().checked_sub(1)?.checked_ilog2()?;
    parts.split_at_checked(1 << largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn pieces_have_the_hash_of_the_whole(len in 0_usize..40_000, shift in 10_u32..13) {
            let bytes: Vec<u8> = (0..len).map(|index| (index * index / 7) as u8).collect();
            let size = 1 << shift;
            let offsets = (0..).step_by(size);
            let pieces: Vec<_> = bytes
                .chunks(size)
                .zip(offsets)
                .filter_map(|(piece, offset)| hashed(piece, offset as u64).map(|hashed| *hashed))
                .collect();
            proptest::prop_assert_eq!(whole(&pieces), blake3::hash(&bytes));
        }
    }
}
