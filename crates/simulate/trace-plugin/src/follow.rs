//! Follows `execve`: executes the emulator with the new program, which QEMU would run natively.

use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_uint};
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::launch::{self, Program, Settings};
use crate::{channel, wire};

/// The system's limit of a text, in bytes.
const MOST_BYTES: usize = 128 << 10;
/// Limit of a list of texts.
const MOST_TEXTS: usize = 1 << 20;

unsafe extern "C" {
    fn execve(path: *const c_char, words: *const *const c_char, env: *const *const c_char)
    -> c_int;
}

static IS_REPORTED: AtomicBool = AtomicBool::new(false);

pub(crate) fn report_program(cpu: c_uint) {
    if IS_REPORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let words = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
    let arguments = words.get(launch::PATH_AT + 1..words.len().saturating_sub(1));
    let name = words.get(launch::NAME_AT).copied().unwrap_or_default();
    let command: Vec<&[u8]> =
        std::iter::once(name).chain(arguments.unwrap_or_default().iter().copied()).collect();
    channel::push_event(cpu, wire::PROGRAM, &command.join(&b' '));
}

/// Before `execve`: becomes the emulator with the program, or returns, and it runs natively.
pub(crate) fn execute(cpu: c_uint, path: u64, words: u64, environment: u64) {
    let Some(settings) = channel::settings() else { return };
    let Some(given) = text_at(path) else { return };
    let path = own_program(&given).unwrap_or(PathBuf::from(&given));
    let outcome = match launch::resolve(&path) {
        Err(None) => return,
        Err(Some(reason)) => reason,
        Ok(program) => {
            let (Some(words), Some(environment)) = (texts_at(words), texts_at(environment)) else {
                return;
            };
            let (process, image) = (channel::process(), settings.image + 1);
            let settings = Settings { process, image, ..settings.clone() };
            replace(&settings, program, &words, environment)
        }
    };
    let text = format!("{} is not followed: {outcome}", Path::new(&given).display());
    channel::push_event(cpu, wire::MISSED, text.as_bytes());
}

/// Executes the emulator; returns why it could not.
fn replace(
    settings: &Settings,
    mut program: Program,
    words: &[OsString],
    mut environment: Vec<OsString>,
) -> String {
    let emulator = match fs::read_link("/proc/self/exe") {
        Ok(path) => path,
        Err(error) => return format!("find the emulator: {error}"),
    };
    // A leading dash would make it an option.
    program.path = std::path::absolute(&program.path).unwrap_or(program.path);
    let name = match words.first().filter(|_| !program.is_interpreter) {
        Some(name) => name.clone(),
        None => program.path.clone().into(),
    };
    let mut all = settings.emulator_words(emulator.as_os_str(), &name, &program);
    all.extend(words.iter().skip(1).cloned());
    if let Some(mark) = std::env::var_os(launch::MARK) {
        environment.push([OsStr::new(launch::MARK), OsStr::new("="), &mark].into_iter().collect());
    }
    let (Some(all), Some(environment)) = (Texts::new(all), Texts::new(environment)) else {
        return "a text has a NUL".to_owned();
    };
    // SAFETY: both lists end with a null pointer, and their texts outlive the call.
    unsafe { execve(all.pointers[0], all.pointers.as_ptr(), environment.pointers.as_ptr()) };
    format!("start the emulator: {}", std::io::Error::last_os_error())
}

struct Texts {
    pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl Texts {
    fn new(texts: Vec<OsString>) -> Option<Self> {
        let texts: Vec<CString> = texts
            .into_iter()
            .map(|text| CString::new(text.into_vec()).ok())
            .collect::<Option<_>>()?;
        let mut pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Some(Self { pointers, _texts: texts })
    }
}

/// The traced program, if the path means it: to the system it is the emulator.
fn own_program(path: &OsStr) -> Option<PathBuf> {
    let own = format!("/proc/{}/exe", std::process::id());
    if path != "/proc/self/exe" && path != OsStr::new(&own) {
        return None;
    }
    let words = fs::read("/proc/self/cmdline").ok()?;
    let word = words.split(|byte| *byte == 0).nth(launch::PATH_AT)?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// A text of the traced program, read through `/proc` so that a bad address is an error. QEMU uses
/// native addresses for programs of its own architecture.
fn text_at(address: u64) -> Option<OsString> {
    let memory = File::open("/proc/self/mem").ok()?;
    let mut text = Vec::new();
    let mut piece = [0; 256];
    while text.len() < MOST_BYTES {
        let at = address.checked_add(text.len() as u64)?;
        // Up to the page end; the next may be unmapped.
        let room = piece.len().min(4096 - (at % 4096) as usize);
        let got = memory.read_at(&mut piece[..room], at).ok().filter(|got| *got > 0)?;
        if let Some(end) = piece[..got].iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&piece[..end]);
            return Some(OsString::from_vec(text));
        }
        text.extend_from_slice(&piece[..got]);
    }
    None
}

/// A null-terminated list of texts of the traced program.
fn texts_at(address: u64) -> Option<Vec<OsString>> {
    let memory = File::open("/proc/self/mem").ok()?;
    let mut texts = Vec::new();
    // To the system, null is an empty list.
    while address != 0 && texts.len() < MOST_TEXTS {
        let mut pointer = [0; 8];
        let at = address.checked_add(8 * texts.len() as u64)?;
        memory.read_exact_at(&mut pointer, at).ok()?;
        match u64::from_le_bytes(pointer) {
            0 => break,
            pointer => texts.push(text_at(pointer)?),
        }
    }
    Some(texts)
}
