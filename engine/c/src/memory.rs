//! The caller's memory: the only module with unsafe code.
//!
//! `In` and `Out` are addresses that a caller passes. `happycity_engine.h` states what the caller promises of them; Rust
//! code outside of this module can't make one.

use core::marker::PhantomData;
use core::{mem, ptr, slice};

use engine::Error;

/// The most bytes that are read at once: no position, view or list of cards is that long.
pub const MOST_BYTES: usize = 4096;

/// The address of bytes to read.
#[repr(transparent)]
pub struct In(*const u8);

/// The address of items to write.
#[repr(transparent)]
pub struct Out<T>(*mut u8, PhantomData<T>);

impl In {
    /// The bytes from this address on.
    ///
    /// # Errors
    /// `Error::Malformed`: there are more than anything has that is read.
    pub fn bytes(&self, size: u32) -> Result<&[u8], Error> {
        match size as usize {
            0 => Ok(&[]),
            // SAFETY: the caller promises that this many bytes can be read, and that no thread writes them meanwhile.
            // This library writes after the last use of what it reads, so an output may lie in the same place.
            size if size <= MOST_BYTES => Ok(unsafe { slice::from_raw_parts(self.0, size) }),
            _ => Err(Error::Malformed("size")),
        }
    }
}

impl<T: Copy> Out<T> {
    /// Writes items from this address on, which need not be aligned.
    pub fn write(&self, items: &[T]) {
        let from = items.as_ptr().cast::<u8>();
        // SAFETY: the caller promises room for the function's result. `T` is a number, of which all bytes may be read,
        // and `items` is memory of this library, which doesn't overlap with the caller's.
        unsafe { ptr::copy_nonoverlapping(from, self.0, mem::size_of_val(items)) }
    }
}

#[cfg(target_arch = "wasm32")]
mod webassembly {
    use core::cell::UnsafeCell;

    use super::MOST_BYTES;

    #[repr(align(8))]
    struct Buffer(UnsafeCell<[u8; MOST_BYTES]>);

    // SAFETY: the library never uses the buffer itself, and an instance has one thread.
    unsafe impl Sync for Buffer {}

    static BUFFER: Buffer = Buffer(UnsafeCell::new([0; MOST_BYTES]));

    /// The address of memory that is the host's alone.
    #[no_mangle]
    pub extern "C" fn happycity_buffer() -> *mut u8 {
        BUFFER.0.get().cast()
    }

    #[no_mangle]
    pub extern "C" fn happycity_buffer_size() -> u32 {
        MOST_BYTES as u32
    }
}

/// Ends the program, or the call of WebAssembly. Nothing in the engine panics, as its tests show.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    {
        extern "C" {
            fn abort() -> !;
        }
        // SAFETY: C's `abort` takes nothing and may be called at any time.
        unsafe { abort() }
    }
}

/// What tests pass instead of a caller.
#[cfg(test)]
pub mod of_tests {
    use super::{In, Out, PhantomData};

    pub fn input(bytes: &[u8]) -> In {
        In(bytes.as_ptr())
    }

    pub fn output<T>(items: &mut [T]) -> Out<T> {
        Out(items.as_mut_ptr().cast(), PhantomData)
    }

    /// An input and an output in the same place.
    pub fn both(bytes: &mut [u8]) -> (In, Out<u8>) {
        let address = bytes.as_mut_ptr();
        (In(address), Out(address, PhantomData))
    }
}
