//! The write street: validate, append, sync, apply, publish.
