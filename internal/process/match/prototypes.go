package match

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/binary/uapi"
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

// asCalls are functions of the C library that have the parameters of a system call, of the same name or the one behind
// "=", or so many of them.
const asCalls = "" +
	" accept accept4 access bind chdir chmod chown chroot close connect dup dup2 dup3 epoll_create1 epoll_ctl" +
	" epoll_wait epoll_pwait/5 eventfd/1 execve faccessat/3 fallocate fchdir fchmod fchmodat/3 fchown fchownat" +
	" fcntl/2 fcntl64/2=fcntl fdatasync flock fsync ftruncate ftruncate64=ftruncate getcwd getpeername getrandom" +
	" getsockname getsockopt inotify_add_watch inotify_init1 inotify_rm_watch ioctl/2 kill lchown link linkat" +
	" listen lseek lseek64=lseek madvise memfd_create mkdir mkdirat mlock mmap mmap64=mmap mount mprotect" +
	" mremap/4 msync munlock munmap nanosleep open/2 open64/2=open openat/3 openat64/3=openat pipe pipe2 poll" +
	" pread=pread64 pread64 preadv/3 pwrite=pwrite64 pwrite64 pwritev/3 read readlink readlinkat readv" +
	" recv/4=recvfrom recvfrom recvmsg rename renameat renameat2 rmdir send/4=sendto sendfile sendfile64=sendfile" +
	" sendmsg sendto setgid setsockopt setuid shutdown socket socketpair splice symlink symlinkat tee" +
	" timerfd_create timerfd_settime truncate truncate64=truncate umount2 unlink unlinkat utimensat wait4" +
	" waitid/4 waitpid/3=wait4 write writev "

// paramsOf are the parameters of a function of the C library that are those of a system call, where they are at its
// entry.
func paramsOf(a *abi.Arch, file, function string) (vars []probe.Var) {
	function, _, _ = strings.Cut(function, "@")
	if a == nil || !hasPrefix(path.Base(file), knownResults[0].files) {
		return nil
	}
	at := -1
	for _, end := range []string{" ", "/", "="} {
		at = max(at, strings.Index(asCalls, " "+function+end))
	}
	if at < 0 {
		return nil
	}
	word, _, _ := strings.Cut(asCalls[at+1:], " ")
	word, name, other := strings.Cut(word, "=")
	_, n, some := strings.Cut(word, "/")
	if !other {
		name = function
	}
	c := uapi.Find(a, name)
	if c == nil || len(c.Params) > len(a.C.Args) {
		return nil
	}
	params := c.Params
	if count, err := strconv.Atoi(n); some && err == nil {
		params = params[:min(count, len(params))]
	}
	for i := range params {
		p := &params[i]
		v := probe.Var{Name: p.Name, Type: p.Type, Place: types.Place{Kind: types.InRegister, Reg: a.C.Args[i]}}
		switch {
		case p.Late:
			v.Type = cPlace // what is there comes with the result
		case p.Read == uapi.Text:
			v.Type = cText
		case p.Read == uapi.Struct:
			v.Type = types.PointerTo(p.Elem, types.User).Derive(func(t *types.Type) { t.Source.Lang = types.C })
		case p.Read != uapi.Nothing:
			v.Type = cPlace
		}
		vars = append(vars, v)
	}
	return vars
}

// textsOf are the registers in which such a function is given the addresses of texts.
func textsOf(a *abi.Arch, p *probe.Point) (w types.TextWord) {
	if p.Kind == probe.Uretprobe {
		return 0
	}
	for _, v := range paramsOf(a, p.Path, p.Func) {
		if v.Type == cText {
			all, _, _ := a.Passing()
			w.Add(slices.Index(all, v.Place.Reg), -1)
		}
	}
	return w
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// resultOf is what a function of a library returns by its prototype; nil: it is none of those that are known.
func resultOf(file, function string) *types.Type {
	base := path.Base(file)
	function, _, _ = strings.Cut(function, "@")
	function = strings.TrimPrefix(function, "__libc_")
	for i := range knownResults {
		lib := &knownResults[i]
		if !hasPrefix(base, lib.files) {
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
	return nil
}

// byPrototype gives a point at a function's return the type of the result, and one at its entry the parameters, without
// debug information.
func (b *binary) byPrototype(p *probe.Point) {
	a := b.obj.Arch()
	switch {
	case a == nil:
	case p.Kind == probe.Uretprobe && (p.Scope == nil || p.Scope.Retval == nil):
		if t := resultOf(b.path, p.Func); t != nil {
			p.Scope = p.Scope.Clone()
			p.Scope.Retval = &probe.Var{Name: "retval", Type: t, Place: a.Result(t, types.C)}
		}
	case p.Entry && (p.Scope == nil || len(p.Scope.Args) == 0):
		if vars := paramsOf(a, b.path, p.Func); len(vars) > 0 {
			p.Scope = p.Scope.Clone()
			p.Scope.Args = vars
		}
	}
}
