// Four threads that take a mutex and a lock of readers and writers in turns, and say how long each of these let them wait,
// by their own clock.
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

static MUTEX: Mutex<u64> = Mutex::new(0);
static RWLOCK: RwLock<u64> = RwLock::new(0);

#[inline(never)]
fn hold() -> Duration {
    let begin = Instant::now();
    let mut n = MUTEX.lock().unwrap();
    let waited = begin.elapsed();
    *n += 1;
    thread::sleep(Duration::from_millis(2));
    waited
}

#[inline(never)]
fn change() -> Duration {
    let begin = Instant::now();
    let mut n = RWLOCK.write().unwrap();
    let waited = begin.elapsed();
    *n += 1;
    thread::sleep(Duration::from_millis(3));
    waited
}

fn main() {
    for (name, take) in [("mutex", hold as fn() -> Duration), ("rwlock", change)] {
        let threads: Vec<_> = (0..4)
            .map(|_| thread::spawn(move || (0..40).map(|_| take()).sum::<Duration>()))
            .collect();
        let waited: Duration = threads.into_iter().map(|t| t.join().unwrap()).sum();
        eprintln!("{} {}", name, waited.as_nanos());
    }
}
