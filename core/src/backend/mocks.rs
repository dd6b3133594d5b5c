//! What devices of tests do not do.

/// The methods of a [`Backend`](crate::backend::Backend) that computes nothing.
macro_rules! computes_nothing {
    () => {
        fn lower(
            &self,
            _: &crate::ir::kernel::Kernel,
            _: crate::ir::kernel::LiteralMode,
        ) -> crate::error::Result<std::sync::Arc<dyn crate::backend::Executable>> {
            Err(crate::error::Error::Interrupted)
        }

        fn run_primitive(
            &self,
            _: &crate::backend::primitive::PrimitiveCall,
            _: crate::backend::primitive::Room<'_>,
        ) -> crate::error::Result<()> {
            Err(crate::error::Error::Interrupted)
        }

        fn sync(&self) -> crate::error::Result<()> {
            Ok(())
        }
    };
}

/// The methods of a [`Memory`](crate::backend::Memory) that is only asked for blocks.
macro_rules! moves_nothing {
    () => {
        fn fill(&self, _: u64, _: u64, _: usize, _: u64) -> crate::error::Result<()> {
            Ok(())
        }

        fn copy(&self, _: u64, _: u64, _: usize) -> crate::error::Result<()> {
            Ok(())
        }

        fn write(&self, _: u64, _: &[u8]) -> crate::error::Result<()> {
            Ok(())
        }

        fn read(&self, _: u64, _: &mut [u8]) -> crate::error::Result<()> {
            Ok(())
        }
    };
}

pub(crate) use {computes_nothing, moves_nothing};
