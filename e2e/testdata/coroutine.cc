// A coroutine that is created three times, resumed four times each and destroyed.
#include <coroutine>
#include <cstdio>
struct task {
  struct promise_type {
    int v = 0;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int x) { v = x; return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> h;
};
__attribute__((noinline)) task counting(int from) { for (int i = from; i < from + 3; i++) co_yield i; }
int main() {
  int sum = 0;
  for (int n = 0; n < 3; n++) {
    task t = counting(n);
    while (!t.h.done()) { t.h.resume(); sum += t.h.promise().v; }
    t.h.destroy();
  }
  std::printf("%d\n", sum);
}
