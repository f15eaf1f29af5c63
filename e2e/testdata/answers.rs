// A server of HTTP and its clients, which check what it answers: sums, sorted numbers, words counted, floating point, and requests
// that panic, which the server catches. Every second a line "RIGHT WRONG" says how many answers were right and wrong.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;

static RIGHT: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, PartialEq)]
enum Question {
    Sum(Vec<i64>),
    Sort(Vec<i64>),
    Words(String),
    Root(f64),
    Panic(i64),
}

#[derive(Debug)]
struct Misread(String);

fn parse(path: &str) -> Result<Question, Misread> {
    let (name, rest) = path.trim_start_matches('/').split_once('?').ok_or_else(|| Misread(path.to_string()))?;
    let numbers = || rest.split(',').map(|s| s.parse::<i64>()).collect::<Result<Vec<_>, _>>().map_err(|e| Misread(e.to_string()));
    match name {
        "sum" => Ok(Question::Sum(numbers()?)),
        "sort" => Ok(Question::Sort(numbers()?)),
        "words" => Ok(Question::Words(rest.to_string())),
        "root" => rest.parse().map(Question::Root).map_err(|e: std::num::ParseFloatError| Misread(e.to_string())),
        "panic" => numbers().map(|n| Question::Panic(n[0])),
        other => Err(Misread(other.to_string())),
    }
}

fn answer(question: Question) -> String {
    let mut out = String::new();
    match question {
        Question::Sum(numbers) => write!(out, "{}", numbers.iter().sum::<i64>()).unwrap(),
        Question::Sort(mut numbers) => {
            numbers.sort_unstable();
            for n in numbers {
                write!(out, "{n};").unwrap();
            }
        }
        Question::Words(text) => {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for word in text.split('+') {
                *counts.entry(word).or_default() += 1;
            }
            let sorted: BTreeMap<_, _> = counts.into_iter().collect();
            for (word, n) in sorted {
                write!(out, "{word}={n};").unwrap();
            }
        }
        Question::Root(x) => write!(out, "{:.9}", x.sqrt()).unwrap(),
        Question::Panic(n) => match std::panic::catch_unwind(move || deeper(n)) {
            Ok(n) => write!(out, "{n}").unwrap(),
            Err(_) => out.push_str("panicked"),
        },
    }
    out
}

#[inline(never)]
fn deeper(n: i64) -> i64 {
    let held = vec![n; 3]; // to be dropped
    if n % 2 == 1 {
        panic!("odd: {}", held.len());
    }
    held.iter().sum()
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let path = line.split(' ').nth(1).unwrap_or("").to_string();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        let (status, body) = match parse(&path) {
            Ok(question) => ("200 OK", answer(question)),
            Err(Misread(what)) => ("400 Bad Request", what),
        };
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(response.as_bytes())?;
        line.clear();
    }
    Ok(())
}

fn ask(reader: &mut BufReader<TcpStream>, path: &str) -> std::io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    reader.get_mut().write_all(request.as_bytes())?;
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some(n) = line.strip_prefix("Content-Length: ") {
            length = n.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

// Asks the five questions; what is right is reckoned without the code of the server.
fn client(seed: u64, address: std::net::SocketAddr) -> std::io::Result<()> {
    let mut state = seed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as i64
    };
    loop {
        let mut reader = BufReader::new(TcpStream::connect(address)?);
        for _ in 0..50 {
            let (a, b, c) = (next(), next(), next());
            let (low, high) = (a.min(b).min(c), a.max(b).max(c));
            let middle = a + b + c - low - high;
            let k = (a % 30000) as f64;
            for (path, want) in [
                (format!("/sum?{a},{b},{c}"), (a + b + c).to_string()),
                (format!("/sort?{a},{b},{c}"), format!("{low};{middle};{high};")),
                (format!("/words?w{low}+w{high}+w{low}+v"), if low == high { format!("v=1;w{low}=3;") } else {
                    let (x, y) = (format!("w{low}"), format!("w{high}"));
                    if x < y { format!("v=1;{x}=2;{y}=1;") } else { format!("v=1;{y}=1;{x}=2;") }
                }),
                (format!("/root?{}", k * k), format!("{k:.9}")),
                (format!("/panic?{a}"), if a % 2 == 1 { "panicked".to_string() } else { (3 * a).to_string() }),
                (format!("/none?{a}"), "none".to_string()),
            ] {
                let got = ask(&mut reader, &path)?;
                if got == want {
                    RIGHT.fetch_add(1, Ordering::Relaxed);
                } else {
                    WRONG.fetch_add(1, Ordering::Relaxed);
                    eprintln!("{path}: {got}, not {want}");
                }
            }
        }
    }
}

fn main() -> std::io::Result<()> {
    std::panic::set_hook(Box::new(|_| ()));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (send, receive) = mpsc::channel::<TcpStream>();
    let receive = Arc::new(Mutex::new(receive));
    for _ in 0..4 {
        let receive = Arc::clone(&receive);
        std::thread::spawn(move || loop {
            let stream = receive.lock().unwrap().recv();
            match stream {
                Ok(stream) => drop(stream.set_nodelay(true).and_then(|_| serve(stream))),
                Err(_) => return,
            }
        });
    }
    for seed in 1..4 {
        std::thread::spawn(move || {
            if let Err(e) = client(seed * 0x9e3779b97f4a7c15, address) {
                eprintln!("client: {e}");
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    std::thread::spawn(|| loop {
        std::thread::sleep(Duration::from_secs(1));
        println!("{} {}", RIGHT.load(Ordering::Relaxed), WRONG.load(Ordering::Relaxed));
    });
    for stream in listener.incoming() {
        let _ = send.send(stream?);
    }
    Ok(())
}
