// A thread whose call is being traced sleeps, for the text that it passes is not there yet (userfaultfd), while another
// on the same CPU makes many calls of the same function.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t go, done;
static char *page;

__attribute__((noinline)) int named(int n, const char *name) {
  __asm__ volatile("" : : "r"(name) : "memory");
  return n * 2;
}

static void pin(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  if (sched_setaffinity(0, sizeof set, &set)) exit(2);
}

static void *first(void *arg) {
  pin();
  named(1, page);
  return arg;
}

static void *second(void *arg) {
  pin();
  sem_wait(&go);
  for (int i = 0; i < 20; i++) named(2, "other");
  sem_post(&done);
  return arg;
}

int main(void) {
  int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) return puts("no userfaultfd"), 3;
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register area = {{(unsigned long)page, 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
  if (ioctl(fd, UFFDIO_REGISTER, &area)) return puts("no userfaultfd"), 3;
  sem_init(&go, 0, 0);
  sem_init(&done, 0, 0);
  pthread_t a, b;
  pthread_create(&b, NULL, second, NULL);
  pthread_create(&a, NULL, first, NULL);
  struct uffd_msg msg;
  if (read(fd, &msg, sizeof msg) != sizeof msg) return 4; // the first one sleeps
  sem_post(&go);
  sem_wait(&done);
  static char text[4096] = "first";
  struct uffdio_copy copy = {.dst = (unsigned long)page, .src = (unsigned long)text, .len = 4096};
  if (ioctl(fd, UFFDIO_COPY, &copy)) return 5;
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
