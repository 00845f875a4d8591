//! Reports on made-up results: their charts as specifications, and every form that they come in.

mod charts;
mod forms;
mod made_up;
mod made_up_jobs;
