//! A server for collectors: `GET /metrics`, and nothing else.
//!
//! What it serves is prepared elsewhere, so no request causes work. Requests, connections and the
//! time of each are bounded.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Most header lines.
const HEADERS_MAX: usize = 64;
/// Most connections at a time; more are answered with 503.
const CONNECTIONS_MAX: usize = 16;
/// Longest time for the head of a request, and for each write of the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, as without free descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);
/// Stack of a thread in bytes: it has the head of a request.
const STACK_BYTES: usize = 128 << 10;
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A server that runs until the process ends.
pub struct Server {
    text: Arc<Mutex<Arc<str>>>,
    address: SocketAddr,
}

impl Server {
    /// Serves `text` at an address. Fails when the address cannot be used.
    pub fn start(address: SocketAddr, text: String) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new(Arc::from(text)));
        let served = Arc::clone(&text);
        let thread = thread::Builder::new().name("server".to_owned()).stack_size(STACK_BYTES);
        thread.spawn(move || accept(&listener, &served))?;
        Ok(Self { text, address })
    }

    /// The address, with the port that port 0 became.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves another text from now on.
    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(text);
    }
}

/// Counts a connection while it lives.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn accept(listener: &TcpListener, text: &Arc<Mutex<Arc<str>>>) {
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(REFUSED_PAUSE);
            continue;
        };
        let is_full = count.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX;
        let place = Place(Arc::clone(&count));
        // A collector that does not read is given up.
        if stream.set_write_timeout(Some(PATIENCE)).is_err() {
            continue;
        }
        if is_full {
            let _ = (&stream).write_all(&Answer::text(503, "too many connections\n").bytes());
            continue;
        }
        let text = Arc::clone(text);
        let thread = thread::Builder::new().name("scrape".to_owned()).stack_size(STACK_BYTES);
        // Without a thread the connection is closed.
        let _ = thread.spawn(move || {
            let _place = place;
            let _ = serve(&stream, &text);
        });
    }
}

/// Answers one request and closes the connection.
fn serve(mut stream: &TcpStream, text: &Mutex<Arc<str>>) -> io::Result<()> {
    let head = read_head(stream)?;
    let text = Arc::clone(&text.lock().unwrap_or_else(PoisonError::into_inner));
    stream.write_all(&answer(&head, &text).bytes())
}

/// Reads to the end of the head, or as far as is allowed.
fn read_head(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while head.len() <= HEAD_BYTES_MAX && !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Ok(head)
}

struct Answer<'a> {
    status: u16,
    content_type: &'static str,
    body: &'a str,
}

impl<'a> Answer<'a> {
    fn text(status: u16, body: &'a str) -> Self {
        Self { status, content_type: TEXT, body }
    }

    fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed\r\nAllow: GET",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Bad Request",
        };
        let Self { status, content_type, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// The answer to the head of a request.
fn answer<'a>(head: &[u8], text: &'a str) -> Answer<'a> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(head);
    if head.len() > HEAD_BYTES_MAX || parsed == Err(httparse::Error::TooManyHeaders) {
        return Answer::text(431, "the request is too long\n");
    }
    if !parsed.is_ok_and(|status| status.is_complete()) {
        return Answer::text(400, "this is not an HTTP request\n");
    }
    let path = request.path.unwrap_or_default().split('?').next();
    match (request.method, path) {
        (Some("GET"), Some("/metrics")) => {
            Answer { status: 200, content_type: OPENMETRICS, body: text }
        }
        (Some("GET"), _) => Answer::text(404, "see /metrics\n"),
        _ => Answer::text(405, "only GET\n"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(head: &[u8]) -> u16 {
        answer(head, "text").status
    }

    #[test]
    fn only_metrics_are_served_and_the_rest_is_refused() {
        let get = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(answer(get, "text").body, "text");
        assert_eq!(status(b"GET / HTTP/1.0\r\n\r\n"), 404);
        assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n"), 405);
        for bad in [&b""[..], b"GET /metrics", b"\0\xff\r\n\r\n", b"GET  HTTP\r\n\r\n"] {
            assert_eq!(status(bad), 400, "{bad:?}");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(status(long.as_bytes()), 431);
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(status(many.as_bytes()), 431);
    }

    #[test]
    fn silent_connections_do_not_keep_others_away() {
        let server = Server::start(([127, 0, 0, 1], 0).into(), "one".to_owned()).unwrap();
        let connect = || TcpStream::connect(server.address()).unwrap();
        let scrape = |mut stream: TcpStream| {
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            text
        };
        server.publish("two".to_owned());
        assert!(scrape(connect()).ends_with("\r\n\r\ntwo"));
        let silent: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
        // The connection before may still be counted, so the refusal may come one earlier.
        assert!(scrape(connect()).starts_with("HTTP/1.1 503"));
        drop(silent);
        let until = Instant::now() + PATIENCE;
        while !scrape(connect()).ends_with("two") {
            assert!(Instant::now() < until, "the silent connections still have their places");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(head in proptest::collection::vec(any::<u8>(), 0..9000)) {
            let answer = answer(&head, "text").bytes();
            prop_assert!(answer.starts_with(b"HTTP/1.1 "));
        }
    }
}
