//! Both bisections: their rules, and how often the noisy one is right.

mod exact;
mod noisy;
