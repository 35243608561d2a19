//! Identity: object identifiers, class identifiers and commit numbers.

use std::fmt;
use std::num::NonZeroU64;

/// Bits of an [`Oid`] that hold the serial number within the class.
pub const SERIAL_BITS: u32 = 44;
/// The largest serial number.
pub const MAX_SERIAL: u64 = (1 << SERIAL_BITS) - 1;
/// The largest class identifier.
pub const MAX_CLASS: u32 = (1 << (64 - SERIAL_BITS)) - 1;

/// Identifies a class within one database; 20 bits. Numbers below [`ClassId::FIRST_USER`] are system classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The first identifier given to a user's class.
    pub const FIRST_USER: ClassId = ClassId(64);

    /// Whether this is a class of the catalog itself.
    pub fn is_system(self) -> bool {
        self < Self::FIRST_USER
    }
}

/// Identifies an object for ever: class in the high 20 bits, serial in the low 44. Never handed out twice.
///
/// The class of an object is known from its identifier without reading it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(NonZeroU64);

impl Oid {
    /// The identifier of serial number `serial` of `class`; `None` if either is out of range or both are zero.
    pub fn new(class: ClassId, serial: u64) -> Option<Oid> {
        if class.0 > MAX_CLASS || serial > MAX_SERIAL {
            return None;
        }
        Oid::from_bits((u64::from(class.0) << SERIAL_BITS) | serial)
    }

    /// The identifier stored as these 64 bits; zero is none.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Option<Oid> {
        NonZeroU64::new(bits).map(Oid)
    }

    /// The 64 bits, as stored.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The class.
    #[inline(always)]
    pub fn class(self) -> ClassId {
        ClassId((self.0.get() >> SERIAL_BITS) as u32)
    }

    /// The serial number within the class; the first object has 1.
    #[inline(always)]
    pub fn serial(self) -> u64 {
        self.0.get() & MAX_SERIAL
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.class().0, self.serial())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The number of a commit: monotonic within a timeline of a database, independent of the clock; 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommitNumber(pub u64);

impl fmt::Display for CommitNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
