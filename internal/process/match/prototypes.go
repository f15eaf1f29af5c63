package match

import (
	"path"
	"slices"
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
	files   []string // patterns of the file's name
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
	{[]string{
		"libc.so", "libc.so.[0-9]*", "libc-2.[0-9]*.so", "libpthread.so.[0-9]*", "libpthread-2.[0-9]*.so", "ld-musl-*.so.1",
		"libc.musl-*.so.1",
	}, []prototype{
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
			vprintf vsnprintf wait wait3 wait4 waitid waitpid fchmodat fchownat inotify_rm_watch lchown memfd_create munlock
			renameat2 symlinkat truncate64 umount2
			clock_settime fstatat64 getitimer getpriority getrlimit getrlimit64 getrusage killpg mknod mknodat
			mlockall mq_open msgctl posix_fadvise posix_fadvise64 pthread_kill pthread_sigmask semctl setitimer setns
			setpriority setrlimit64 shm_open shmctl sigprocmask sigqueue statx sync_file_range tgkill timer_create
			timer_settime unshare`},
		{
			cLong,
			`atol copy_file_range ftell lseek lseek64 pread pread64 preadv pwrite pwrite64 getrandom preadv64 pwritev64
			pwritev read readlink readlinkat readv recv recvfrom recvmsg send sendfile sendfile64 sendmsg sendto splice
			strtol strtoll syscall sysconf tee time write writev ptrace vmsplice`,
		},
		{uapi.Mode, `umask`},
		{types.TUint64, `fread fwrite strlen strnlen strtoul strtoull wcslen`},
		{
			cText,
			`asctime ctime fgets getcwd getenv gets inet_ntoa realpath secure_getenv strcat strchr strcpy strdup strerror strncat
			strncpy strndup strrchr strsignal strstr strtok strtok_r`,
		},
		{
			cPlace,
			`aligned_alloc calloc dlopen dlsym fdopen fopen fopen64 gethostbyname malloc memalign memchr memcpy memmove memset mmap
			signal mmap64 mremap opendir popen readdir reallocarray realloc valloc`,
		},
	}},
	{[]string{"libssl.so", "libssl.so.[0-9]*"}, []prototype{
		{
			cInt,
			`SSL_accept SSL_connect SSL_do_handshake SSL_get_error SSL_peek SSL_pending SSL_read SSL_read_ex SSL_shutdown SSL_write
			SSL_write_ex`,
		},
	}},
}

// libraryCall is a function of the C library that makes a system call; nil: it is none.
func libraryCall(a *abi.Arch, file, function string) *uapi.Call {
	function, _, _ = strings.Cut(function, "@")
	if a == nil || !knownResults[0].has(file) {
		return nil
	}
	c := uapi.Library(a, function)
	if c == nil || len(c.Params) > len(a.C.Args) {
		return nil
	}
	return c
}

// paramsOf are the parameters of such a function where they are at its entry, but those that come behind "...".
func paramsOf(a *abi.Arch, file, function string) (vars []probe.Var) {
	c := libraryCall(a, file, function)
	if c == nil {
		return nil
	}
	for i := range c.Params {
		p := &c.Params[i]
		if p.Reg != i {
			break // another meaning of the same
		}
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

// worded gives numbers that such a function is given their words, of which debug information tells nothing.
func (b *binary) worded(function string, vars []probe.Var) []probe.Var {
	for _, prefix := range [...]string{"__libc_", "__GI_", "__"} {
		function = strings.TrimPrefix(function, prefix)
	}
	c := libraryCall(b.obj.Arch(), b.path, function)
	if c == nil {
		return vars
	}
	for i := range min(len(vars), len(c.Params)) {
		v, p := &vars[i], &c.Params[i]
		if v.Type == nil || p.Type.Kind != types.Enum || p.Reg != i {
			continue
		}
		if t := v.Type.Complete(); t.Kind == types.Int && (t.Size == 4 || t.Size == 8) {
			v.Type = uapi.Sized(p.Type, t.Size).Derive(func(w *types.Type) { w.Signed = t.Signed })
		}
	}
	return vars
}

// textsOf are the registers in which such a function is given the addresses of texts, or gives one back.
func textsOf(a *abi.Arch, p *probe.Point) (w types.TextWord) {
	if a == nil {
		return 0
	}
	all, _, _ := a.Passing()
	if p.Kind == probe.Uretprobe {
		if resultOf(p.Path, p.Func) == cText {
			w.Add(slices.Index(all, a.C.Result), -1)
		}
		return w
	}
	for _, v := range paramsOf(a, p.Path, p.Func) {
		if v.Type == cText {
			w.Add(slices.Index(all, v.Place.Reg), -1)
		}
	}
	return w
}

// has tells whether a file is one of the library. Many other libraries' names begin like its own.
func (l *prototypes) has(file string) bool {
	return slices.ContainsFunc(l.files, func(p string) bool {
		ok, err := path.Match(p, path.Base(file))
		return ok && err == nil
	})
}

// resultOf is what a function of a library returns by its prototype; nil: it is none of those that are known.
func resultOf(file, function string) *types.Type {
	function, _, _ = strings.Cut(function, "@")
	function = strings.TrimPrefix(function, "__libc_")
	for i := range knownResults {
		lib := &knownResults[i]
		if !lib.has(file) {
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

// describeLibrary fills in what is known of functions of the C library without debug information; false: of some
// nothing is known.
func (m *matcher) describeLibrary(b *binary, list []listing, of []int, told []function) (all bool) {
	all = true
	for _, i := range of {
		one, name := &told[i], list[i].fn.Name
		if one.declared != nil || one.params != nil {
			continue
		}
		name, _, _ = strings.Cut(name, "@")
		c, t := libraryCall(b.obj.Arch(), b.path, name), resultOf(b.path, name)
		if c == nil || t == nil {
			all = false
			continue
		}
		for _, v := range paramsOf(b.obj.Arch(), b.path, name) {
			one.params = append(one.params, strings.Replace(inC(v.Type, v.Name), "char *", "const char *", 1))
		}
		if c.Vararg {
			one.params = append(one.params, "...")
		}
		if m.opts.Declared {
			text := inC(t, name) + "(" + strings.Join(one.params, ", ") + ")"
			one.params, one.declared = nil, &Declared{Text: text, Prototype: true}
		}
	}
	return all
}

// inC declares a parameter of a prototype as C does; what its words mean is not C's.
func inC(t *types.Type, name string) string {
	switch {
	case t == types.TUint32:
		return "unsigned int " + name
	case t == types.TUint64:
		return "size_t " + name
	case t == types.TInt64 || t.Kind == types.Enum && t.Size == 8:
		return "long " + name
	case t == types.TInt32 || t.Kind == types.Enum:
		return "int " + name
	case t == cText:
		return "char *" + name
	case t.Elem.Kind == types.Struct:
		return "struct " + t.Elem.Name + " *" + name
	}
	return "void *" + name
}
