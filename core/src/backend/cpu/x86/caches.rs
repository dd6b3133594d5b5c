//! The caches of this processor, as far as code and working memory are made to fit them.

use raw_cpuid::{CacheParameter, CacheType, CpuId};

use crate::backend::cpu::machine::Caches;

/// Asks the processor. Where it does not tell, as in some virtual machines, they are those of most processors.
pub(super) fn of_this_processor() -> Caches {
    let processor = CpuId::new();
    let bytes = |level: u8, holds: CacheType| {
        let mut caches = processor.get_cache_parameters()?;
        caches.find(|cache| cache.level() == level && cache.cache_type() == holds).map(size)
    };
    Caches {
        instructions: bytes(1, CacheType::Instruction).unwrap_or(32 << 10),
        second: bytes(2, CacheType::Unified).unwrap_or(1 << 20),
    }
}

fn size(cache: CacheParameter) -> usize {
    let line = cache.coherency_line_size() * cache.physical_line_partitions();
    line * cache.associativity() * cache.sets()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_have_sizes_that_are_built() {
        let Caches { instructions, second } = of_this_processor();
        assert!((8 << 10..=1 << 20).contains(&instructions), "{instructions}");
        assert!((128 << 10..=64 << 20).contains(&second), "{second}");
    }
}
