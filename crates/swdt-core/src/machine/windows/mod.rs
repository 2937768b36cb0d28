//! Windows from Microsoft's own media, whoever makes the machine: the disc that is looked at before anything is made,
//! and the seed that answers Setup's questions.

pub mod media;
pub mod seed;
