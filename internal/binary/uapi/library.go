package uapi

// library are the functions of the C library that make a system call, by their prototypes in C, which are those of
// glibc and musl. Where the library's parameters are those of the call, a line has the function's name only, or that of
// the call behind "=". The parameters have the kernel's names. Where glibc and musl differ (the request of ioctl), it
// is as the kernel has it. "..." stands for what is given in some calls only.
const library = `
accept
accept4
access
bind fd:d umyaddr:addr(addrlen) addrlen:u
chdir
chmod
chown filename:text user:u group:u
chroot
clock_getres
clock_gettime
clock_nanosleep
clock_settime
close
connect fd:d uservaddr:addr(addrlen) addrlen:u
creat
dup
dup2
dup3
epoll_create
epoll_create1
epoll_ctl
epoll_pwait epfd:d events:epoll_event[] maxevents:d timeout:d sigmask:p
epoll_wait
eventfd count:u flags:eventfd
execve
faccessat dfd:at filename:text mode:access flags:eaccess
fallocate
fchdir
fchmod
fchmodat dfd:at filename:text mode:mode flags:atflags
fchown fd:d user:u group:u
fchownat dfd:at filename:text user:u group:u flag:atflags
fcntl fd:d cmd:fcntl ...
fcntl64 fd:d cmd:fcntl ...
fdatasync
flock
fstatat dfd:at filename:text statbuf:p flag:atflags
fstatat64 dfd:at filename:text statbuf:p flag:atflags
fsync
ftruncate
ftruncate64 =ftruncate
getcwd
getitimer
getpeername
getpriority which:prio who:u
getrandom
getrlimit
getrlimit64 =getrlimit
getrusage
getsockname
getsockopt
inotify_add_watch
inotify_init1
inotify_rm_watch
ioctl fd:d cmd:ioctl ...
kill
killpg pgrp:d sig:sig
lchown filename:text user:u group:u
link
linkat
listen
lseek
lseek64 =lseek
madvise
memfd_create
mkdir
mkdirat
mkfifo filename:text mode:mode
mknod filename:text mode:mode dev:z
mknodat dfd:at filename:text mode:mode dev:z
mlock
mlockall
mmap addr:p len:z prot:prot/4 flags:map/4 fd:d off:l
mmap64 addr:p len:z prot:prot/4 flags:map/4 fd:d off:l
mount
mprotect start:p len:z prot:prot/4
mq_open u_name:text oflag:open ...
mremap addr:p old_len:z new_len:z flags:mremap/4 ...
msgctl
msync
munlock
munmap
nanosleep
open filename:text flags:open ...
open64 filename:text flags:open ...
openat dfd:at filename:text flags:open ...
openat64 dfd:at filename:text flags:open ...
pipe
pipe2
poll ufds:pollfd[nfds] nfds:z timeout_msecs:d
posix_fadvise fd:d offset:l len:l advice:fadvise
posix_fadvise64 fd:d offset:l len:l advice:fadvise
prctl option:prctl ...
pread =pread64
pread64
preadv fd:d vec:p vlen:d pos:l
preadv64 fd:d vec:p vlen:d pos:l
pthread_kill thread:z sig:sig
pthread_sigmask how:sighow nset:p oset:p
ptrace request:ptrace ...
pwrite =pwrite64
pwrite64
pwritev fd:d vec:p vlen:d pos:l
pwritev64 fd:d vec:p vlen:d pos:l
raise sig:sig
read
readlink path:text buf:out bufsiz:z
readlinkat dfd:at pathname:text buf:out bufsiz:z
readv fd:d vec:p vlen:d
recv fd:d ubuf:out size:z flags:msg
recvfrom
recvmsg
rename
renameat
renameat2
rmdir
semctl semid:d semnum:d cmd:semctl ...
send fd:d buff:in(len) len:z flags:msg
sendfile
sendfile64 =sendfile
sendmsg
sendto fd:d buff:in(len) len:z flags:msg addr:addr(addr_len) addr_len:u
setgid gid:u
setitimer
setns fd:d flags:clone/4
setpriority which:prio who:u niceval:d
setrlimit
setrlimit64 =setrlimit
setsockopt fd:d level:level optname:d optval:p optlen:u
setuid uid:u
shm_open name:text oflag:open mode:mode
shmctl
shutdown
sigaction sig:sig act:p oact:p
signal sig:sig handler:p
sigprocmask how:sighow nset:p oset:p
sigqueue pid:d sig:sig value:z
socket
socketpair
splice
statx
symlink
symlinkat
sync_file_range
syscall number:syscall ...
tee
tgkill
timer_create
timer_settime timer_id:p flags:timer new_setting:p old_setting:p
timerfd_create
timerfd_settime
truncate
truncate64 =truncate
umask
umount2
unlink
unlinkat
unshare unshare_flags:clone/4
utimensat
vmsplice
wait4
waitid which:idtype upid:u infop:p options:wait
waitpid upid:d stat_addr:int* options:wait
write
writev fd:d vec:p vlen:d
`
