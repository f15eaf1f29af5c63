// Calls that a panic leaves: of 12 calls eight return and four are left. The panics are caught.
use std::hint::black_box;
use std::panic;

static mut CALLS: i32 = 0;
static mut RETURNED: i32 = 0;

#[inline(never)]
fn work(n: i32) -> i32 {
    unsafe { CALLS += 1 };
    let n = black_box(n);
    if n % 3 == 2 {
        panic::resume_unwind(Box::new(n));
    }
    unsafe { RETURNED += 1 };
    n
}

struct Guard(i32);

impl Drop for Guard {
    fn drop(&mut self) {
        black_box(self.0);
    }
}

#[inline(never)]
fn guarded(n: i32) -> i32 {
    let _guard = Guard(n);
    black_box(work(n)) + 1
}

fn main() {
    let mut sum = 0;
    for i in 0..12 {
        sum += panic::catch_unwind(|| guarded(i)).unwrap_or(-1);
    }
    let (calls, returned) = unsafe { (CALLS, RETURNED) };
    println!("calls {} returned {} sum {}", calls, returned, sum);
}
