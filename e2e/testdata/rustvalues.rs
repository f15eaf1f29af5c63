// Calls functions with values of many types of Rust and says on stderr, in the tracer's words, what they were called with and
// what they returned.
#![allow(dead_code, unused_must_use)]
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{CString, OsString};
use std::fmt::Debug;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Point { x: i32, y: i32 }
pub struct Pair(u8, i64);
pub struct Node { v: u32, next: Option<Box<Node>> }
pub enum Vast { Told(String, u8), Wide { most: Option<i128>, list: Vec<u8> }, Gone }
pub enum Beast { Unseen, Seen(u32), Named { legs: i8, name: String }, Caught(u8, u16) }
#[repr(u8)]
pub enum Tagged { No = 3, Yes(u32) = 200 }
#[repr(i8)]
pub enum Cold { Below = -3, Zero = 0 }
pub struct Unit;
#[derive(Debug)]
pub struct Lion(u32);
#[derive(Debug)]
pub struct Bear { name: String }

macro_rules! cage {
    ($($name:ident: $t:ty = [$($v:expr => $said:expr),*];)*) => {
        $(pub mod $name {
            use super::*;
            #[inline(never)]
            pub fn keep(n: u32, a: $t, s: &str, b: &$t) -> usize {
                black_box((stringify!($name), &n, &a, &s, &b));
                s.len() + n as usize
            }
            #[inline(never)]
            pub fn give(a: $t) -> $t {
                black_box(stringify!($name)); // else functions that are alike become one
                black_box(a)
            }
        })*
        pub fn show() {
            $($({
                let said = $said;
                eprintln!("rustvalues::{}::keep {{ .n = 9, .a = {}, .s = \"roar\", .b = {} }}", stringify!($name), said, said);
                let b: $t = $v;
                black_box($name::keep(9, $v, "roar", &b));
                eprintln!("rustvalues::{}::give {}", stringify!($name), alone(said));
                black_box($name::give($v));
            })*)*
        }
    };
}

// alone is text or a character as it is shown by itself.
fn alone(said: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(text) = said.strip_prefix(quote).and_then(|s| s.strip_suffix(quote)) {
            if !text.contains(quote) {
                return text;
            }
        }
    }
    said
}

static SEVEN: u32 = 7;

cage! {
    byte: u8 = [200 => "200"];
    long: i64 = [-5 => "-5"];
    huge: u128 = [1 << 100 => "1267650600228229401496703205376"];
    letter: char = ['é' => "'é'"];
    flag: bool = [true => "true"];
    text: &'static str = ["" => "\"\"", "héron" => "\"héron\""];
    slice: &'static [u16] = [&[1, 2, 3] => "[1,2,3]"];
    words: &'static [&'static str] = [&["a", "bc"] => "[\"a\",\"bc\"]"];
    pair: (u64, u64) = [(1 << 40, 2) => "(1099511627776, 2)"];
    small: (u8, u32) = [(1, 2) => "(1, 2)"];
    point: Point = [Point { x: -1, y: 2 } => "{ .x = -1, .y = 2 }"];
    tuple: Pair = [Pair(1, -2) => "(1, -2)"];
    option: Option<u32> = [None => "None", Some(7) => "{ .Some = 7 }"];
    niche: Option<&'static u32> = [None => "None", Some(&SEVEN) => "{ .Some = 7 }"];
    nonzero: Option<NonZeroU32> = [None => "None", NonZeroU32::new(4) => "{ .Some = 4 }"];
    twice: Option<Option<bool>> = [None => "None", Some(None) => "{ .Some = None }", Some(Some(true)) => "{ .Some = { .Some = true } }"];
    maybe: Option<char> = [None => "None", Some('x') => "{ .Some = 'x' }"];
    heap: Option<Box<Point>> = [None => "None", Some(Box::new(Point { x: 3, y: 4 })) => "{ .Some = { .x = 3, .y = 4 } }"];
    outcome: Result<u32, i8> = [Ok(1) => "{ .Ok = 1 }", Err(-1) => "{ .Err = -1 }"];
    empty: Result<(), ()> = [Ok(()) => "{ .Ok = () }", Err(()) => "{ .Err = () }"];
    cold: Cold = [Cold::Below => "Below", Cold::Zero => "Zero"];
    tagged: Tagged = [Tagged::No => "No", Tagged::Yes(4) => "{ .Yes = 4 }"];
    boxed: Box<u32> = [Box::new(3) => "3"];
    counted: Rc<u32> = [Rc::new(4) => "{ .value = 4, .strong = 1, .weak = 0 }"];
    shared: Arc<Mutex<u32>> = [Arc::new(Mutex::new(4)) => "{ .value = { .inner = 0, .poison = 0, .data = 4 }, .strong = 1, .weak = 0 }"];
    cell: Cell<u16> = [Cell::new(4) => "4"];
    road: &'static Path = [Path::new("/a/b") => "\"/a/b\""];
    cstring: CString = [CString::new("cs").unwrap() => "\"cs\""];
    string: String = ["".to_string() => "\"\"", "otter".to_string() => "\"otter\""];
    vector: Vec<u8> = [vec![] => "[]", vec![1, 255] => "[1,255]"];
    strings: Vec<String> = [vec!["a".into(), "bb".into()] => "[\"a\",\"bb\"]"];
    options: Vec<Option<u32>> = [vec![Some(1), None] => "[{ .Some = 1 },None]"];
    ring: VecDeque<u32> = [{
        let mut d: VecDeque<u32> = (0..4).collect();
        d.pop_front();
        d.push_back(8);
        d
    } => "[1,2,3,8]"];
    table: HashMap<u32, String> = [[(1, "a".to_string())].into() => "{ [1] = \"a\" }"];
    tree: BTreeMap<String, u8> = [[("k".to_string(), 1)].into() => "{ [\"k\"] = 1 }"];
    beast: Beast = [Beast::Unseen => "Unseen", Beast::Seen(5) => "{ .Seen = 5 }",
        Beast::Named { legs: -1, name: "yak".into() } => "{ .Named = { .legs = -1, .name = \"yak\" } }", Beast::Caught(1, 2) => "{ .Caught = (1, 2) }"];
    failure: Result<(), String> = [Ok(()) => "{ .Ok = () }", Err("bad".into()) => "{ .Err = \"bad\" }"];
    chain: Node = [Node { v: 1, next: Some(Box::new(Node { v: 2, next: None })) } => "{ .v = 1, .next = { .Some = { .v = 2, .next = None } } }"];
    inside: RefCell<String> = [RefCell::new("den".into()) => "{ .borrow = 0, .value = \"den\" }"];
    cow: Cow<'static, str> = [Cow::Borrowed("bo") => "{ .Borrowed = \"bo\" }", Cow::Owned("ow".into()) => "{ .Owned = \"ow\" }"];
    path: PathBuf = ["/tmp/p".into() => "\"/tmp/p\""];
    os: OsString = ["os".into() => "\"os\""];
    span: Duration = [Duration::new(5, 6) => "{ .secs = 5, .nanos = 6 }"];
    vast: Vast = [Vast::Gone => "Gone", Vast::Told("a,b".into(), 7) => "{ .Told = (\"a,b\", 7) }",
        Vast::Wide { most: Some(-5), list: vec![1, 2] } => "{ .Wide = { .most = { .Some = -5 }, .list = [1,2] } }",
        Vast::Wide { most: None, list: vec![] } => "{ .Wide = { .most = None, .list = [] } }"];
    wide: Option<i128> = [None => "None", Some(-5) => "{ .Some = -5 }"];
}

#[inline(never)]
fn speak(who: &dyn Debug, other: Box<dyn Debug>, none: Option<Box<dyn Debug>>) -> usize {
    black_box((&who, &other, &none));
    4
}

fn main() {
    show();
    speak(&Lion(3), Box::new(Bear { name: "b".into() }), None);
}
