//! Enums whose values have names in tables, CSV and JSON.

/// Declares an enum with the name of each value. The enum gets the constant `ALL` and the method `name`.
#[macro_export]
macro_rules! named_values {
    ($(#[$about:meta])+ pub enum $Enum:ident { $($(#[$doc:meta])+ $value:ident = $name:literal,)+ }) => {
        $(#[$about])+
        pub enum $Enum {
            $($(#[$doc])+ $value,)+
        }

        impl $Enum {
            /// All values, in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name in tables and files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}
