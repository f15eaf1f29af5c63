// Panics that are caught, among calls that return.
use std::panic;

#[inline(never)]
fn dive(n: u32) -> u32 {
    if n == 3 {
        panic!("bottom")
    }
    if n == 0 { 0 } else { dive(n - 1) + 1 }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    for i in 0..200 {
        if panic::catch_unwind(|| dive(i % 7)).is_err() {
            caught += 1;
        }
    }
    println!("caught {}", caught);
}
