package match

import (
	"path"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// Results of functions of libraries that are installed without debug information nearly everywhere, by their
// prototypes: a result without a type has no sign. Names are those of the C standard, POSIX and Linux's manual pages,
// and OpenSSL's.

// prototypes are the functions of a library by what they return.
type prototypes struct {
	files   []string // beginnings of the file's name
	results []prototype
}

type prototype struct {
	result *types.Type
	names  string
}

var (
	cInt   = types.TInt32
	cLong  = types.TInt64
	cText  = types.PointerTo(types.TChar, types.User)
	cPlace = types.PointerTo(types.TVoid, types.User)
)

var knownResults = []prototypes{
	{[]string{"libc.so", "libc-2.", "libpthread", "ld-musl-", "libc.musl-"}, []prototype{
		{cInt, `abs accept accept4 access atoi bind brk chdir chmod chown chroot clock_getres clock_gettime clock_nanosleep
			clone close closedir connect creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd
			execl execle execlp execv execve execvp execvpe faccessat fallocate fchdir fchmod fchown fclose fcntl fcntl64 fdatasync feof
			ferror fflush fgetc fileno flock fork fprintf fputc fputs fscanf fseek fstat fstat64 fstatat fsync ftruncate
			ftruncate64 futimens getaddrinfo getchar getnameinfo getpeername getsockname getsockopt gettimeofday inotify_add_watch
			inotify_init1 ioctl isatty kill link linkat listen lstat lstat64 madvise memcmp mkdir mkdirat mkfifo mkstemp mlock
			mount mprotect msync munmap nanosleep open open64 openat openat64 pause pidfd_open pipe pipe2 poll posix_memalign ppoll
			prctl printf pselect pthread_cond_signal pthread_cond_timedwait pthread_cond_wait pthread_create pthread_join
			pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_rwlock_rdlock pthread_rwlock_wrlock putenv puts
			raise rename renameat rmdir sched_yield select sem_post sem_wait setenv setgid setrlimit setsid setsockopt setuid shutdown
			sigaction snprintf socket socketpair sprintf sscanf stat stat64 statfs strcasecmp strcmp strcoll strncasecmp strncmp
			symlink system timerfd_create timerfd_settime truncate umount unlink unlinkat unsetenv usleep utimensat vfork vfprintf
			vprintf vsnprintf wait wait3 wait4 waitid waitpid`},
		{
			cLong,
			`atol copy_file_range ftell lseek lseek64 pread pread64 preadv pwrite pwrite64 pwritev read readlink readlinkat
			readv recv recvfrom recvmsg send sendfile sendfile64 sendmsg sendto splice strtol strtoll syscall sysconf tee
			time write writev`,
		},
		{types.TUint64, `fread fwrite strlen strnlen strtoul strtoull wcslen`},
		{
			cText,
			`asctime ctime fgets getcwd getenv gets inet_ntoa realpath secure_getenv strcat strchr strcpy strdup strerror strncat
			strncpy strndup strrchr strsignal strstr strtok strtok_r`,
		},
		{
			cPlace,
			`aligned_alloc calloc dlopen dlsym fdopen fopen fopen64 gethostbyname malloc memalign memchr memcpy memmove memset mmap
			mmap64 mremap opendir popen readdir reallocarray realloc valloc`,
		},
	}},
	{[]string{"libssl.so"}, []prototype{
		{
			cInt,
			`SSL_accept SSL_connect SSL_do_handshake SSL_get_error SSL_peek SSL_pending SSL_read SSL_read_ex SSL_shutdown SSL_write
			SSL_write_ex`,
		},
	}},
}

// resultOf is what a function of a library returns by its prototype; nil: it is none of those that are known.
func resultOf(file, function string) *types.Type {
	base := path.Base(file)
	function, _, _ = strings.Cut(function, "@")
	function = strings.TrimPrefix(function, "__libc_")
	for i := range knownResults {
		lib := &knownResults[i]
		for _, prefix := range lib.files {
			if !strings.HasPrefix(base, prefix) {
				continue
			}
			for _, p := range lib.results {
				for name := range strings.FieldsSeq(p.names) {
					if name == function {
						return p.result
					}
				}
			}
		}
	}
	return nil
}

// byPrototype gives a point at a function's return the type of the result, without debug information.
func (b *binary) byPrototype(p *probe.Point) {
	if p.Kind != probe.Uretprobe || b.obj.Arch() == nil || p.Scope != nil && p.Scope.Retval != nil {
		return
	}
	if t := resultOf(b.path, p.Func); t != nil {
		p.Scope = p.Scope.Clone()
		p.Scope.Retval = &probe.Var{Name: "retval", Type: t, Place: b.obj.Arch().Result(t, types.C)}
	}
}
