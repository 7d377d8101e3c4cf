//! A short list without allocation.

use core::fmt;
use core::mem::replace;
use core::ops::{Deref, DerefMut};

/// Up to `N` bytes, which are cards, moves or text. It is read as a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<const N: usize> {
    /// The bytes after the last item are 0, so that equal lists are equal bytes.
    items: [u8; N],
    len: u8,
}

impl<const N: usize> List<N> {
    /// The empty list.
    pub const EMPTY: Self = List { items: [0; N], len: 0 };

    /// Adds an item, and says whether there was room for it.
    pub fn push(&mut self, item: u8) -> bool {
        match self.items.get_mut(self.len as usize) {
            Some(place) => {
                *place = item;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Takes the last item.
    pub fn pop(&mut self) -> Option<u8> {
        let last = replace(self.last_mut()?, 0);
        self.len -= 1;
        Some(last)
    }

    /// Takes the first item that is equal to `item`, and says whether there was one.
    pub fn remove(&mut self, item: u8) -> bool {
        let found = self.iter().position(|&other| other == item);
        if let Some(place) = found {
            self[place..].rotate_left(1);
            self.pop();
        }
        found.is_some()
    }
}

/// Writes text as far as there is room.
impl<const N: usize> fmt::Write for List<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().all(|byte| self.push(byte)).then_some(()).ok_or(fmt::Error)
    }
}

/// Collects what there is room for.
impl<const N: usize> FromIterator<u8> for List<N> {
    fn from_iter<I: IntoIterator<Item = u8>>(items: I) -> Self {
        let mut list = Self::EMPTY;
        items.into_iter().all(|item| list.push(item));
        list
    }
}

impl<const N: usize> Deref for List<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.items[..self.len as usize]
    }
}

impl<const N: usize> DerefMut for List<N> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.items[..self.len as usize]
    }
}
