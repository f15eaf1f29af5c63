package uapi

// calls are the system calls of Linux 6.18 with their parameters, as the kernel names them (SYSCALL_DEFINEn, which its
// tracepoints show), each with what its number means: see kinds in param.go.
const calls = `
accept fd:d upeer_sockaddr:addr(upeer_addrlen)* upeer_addrlen:p
accept4 fd:d upeer_sockaddr:addr(upeer_addrlen)* upeer_addrlen:p flags:sock
access filename:text mode:access
acct name:text
add_key _type:text _description:text _payload:p plen:z ringid:d
adjtimex txc_p:p
alarm seconds:u
arch_prctl option:archprctl arg2:x
bind fd:d umyaddr:addr(addrlen) addrlen:d
bpf cmd:bpf uattr:p size:u
brk brk:p
cachestat fd:d cstat_range:p cstat:p flags:u
capget header:p dataptr:p
capset header:p data:p
chdir filename:text
chmod filename:text mode:mode
chown filename:text user:d group:d
chroot filename:text
clock_adjtime which_clock:clock utx:p
clock_getres which_clock:clock tp:timespec*
clock_gettime which_clock:clock tp:timespec*
clock_nanosleep which_clock:clock flags:timer rqtp:timespec rmtp:p
clock_settime which_clock:clock tp:timespec
clone clone_flags:clone newsp:p parent_tidptr:p?0&0x101000 child_tidptr:p?0&0x1200000 tls:x?0&0x80000
clone3 uargs:p size:z
close fd:d
close_range fd:d max_fd:u flags:closerange
connect fd:d uservaddr:addr(addrlen) addrlen:d
copy_file_range fd_in:d off_in:p fd_out:d off_out:p len:z flags:u
creat pathname:text mode:mode
delete_module name_user:text flags:open
dup fildes:d
dup2 oldfd:d newfd:d
dup3 oldfd:d newfd:d flags:open
epoll_create size:d
epoll_create1 flags:epollcreate
epoll_ctl epfd:d op:epollop fd:d event:epoll_event?1=1,3
epoll_pwait epfd:d events:epoll_event[] maxevents:d timeout:d sigmask:p sigsetsize:z
epoll_pwait2 epfd:d events:epoll_event[] maxevents:d timeout:timespec sigmask:p sigsetsize:z
epoll_wait epfd:d events:epoll_event[] maxevents:d timeout:d
eventfd count:u
eventfd2 count:u flags:eventfd
execve filename:text argv:argv envp:p
execveat fd:d filename:text argv:argv envp:p flags:atflags
exit error_code:d
exit_group error_code:d
faccessat dfd:at filename:text mode:access
faccessat2 dfd:at filename:text mode:access flags:eaccess
fadvise64 fd:d offset:l len:z advice:fadvise
fallocate fd:d mode:fallocate offset:l len:l
fanotify_init flags:x event_f_flags:open
fanotify_mark fanotify_fd:d flags:u mask:x dfd:at pathname:text
fchdir fd:d
fchmod fd:d mode:mode
fchmodat dfd:at filename:text mode:mode
fchmodat2 dfd:at filename:text mode:mode flags:atflags
fchown fd:d user:d group:d
fchownat dfd:at filename:text user:d group:d flag:atflags
fcntl fd:d cmd:fcntl arg:x?1!0,1,2,3,4,5,6,7,8,9,10,11,36,37,38,1024,1025,1027,1028,1030,1031,1032,1034
	^arg:d?1=0,8,1027,1030,1031 ^arg:fdflags?1=2 ^arg:open?1=4 ^arg:filelock?1=5,6,7,36,37,38 ^arg:sig?1=10
	^arg:locktype/4?1=1024
fdatasync fd:d
fgetxattr fd:d name:text value:out size:z
file_getattr dfd:at filename:text ufattr:p usize:z at_flags:u
file_setattr dfd:at filename:text ufattr:p usize:z at_flags:u
finit_module fd:d uargs:text flags:x
flistxattr fd:d list:p size:z
flock fd:d cmd:flock
fork
fremovexattr fd:d name:text
fsconfig fd:d cmd:fsconfig _key:text _value:p aux:d
fsetxattr fd:d name:text value:in(size) size:z flags:xattr
fsmount fs_fd:d flags:x attr_flags:u
fsopen _fs_name:text flags:x
fspick dfd:at path:text flags:x
fstat fd:d statbuf:p
fstatfs fd:d buf:p
fsync fd:d
ftruncate fd:d length:l
futex uaddr:p op:futex val:u?1/0x7f!6,7,8,13 utime:timespec?1/0x7f=0,6,9,11,13 ^val2:u?1/0x7f=3,4,5,12
	uaddr2:p?1/0x7f=3,4,5,11,12 val3:u?1/0x7f=4,5,9,10,12
futex_requeue waiters:p flags:u nr_wake:d nr_requeue:d
futex_wait uaddr:p val:x mask:x flags:u timeout:p clockid:clock
futex_waitv waiters:p nr_futexes:u flags:u timeout:p clockid:clock
futex_wake uaddr:p mask:x nr:d flags:u
futimesat dfd:at filename:text utimes:p
get_mempolicy policy:p nmask:p maxnode:x addr:x flags:x
get_robust_list pid:d head_ptr:p len_ptr:p
getcpu cpup:p nodep:p unused:p
getcwd buf:text* size:z
getdents fd:d dirent:p count:u
getdents64 fd:d dirent:p count:u
getegid
geteuid
getgid
getgroups gidsetsize:d grouplist:p
getitimer which:itimer value:p
getpeername fd:d usockaddr:addr(usockaddr_len)* usockaddr_len:p
getpgid pid:d
getpgrp
getpid
getppid
getpriority which:prio who:d
getrandom ubuf:out len:z flags:getrandom
getresgid rgidp:p egidp:p sgidp:p
getresuid ruidp:p euidp:p suidp:p
getrlimit resource:rlimit rlim:rlimit64*
getrusage who:rusage ru:p
getsid pid:d
getsockname fd:d usockaddr:addr(usockaddr_len)* usockaddr_len:p
getsockopt fd:d level:level optname:d optval:p optlen:p
gettid
gettimeofday tv:p tz:p
getuid
getxattr pathname:text name:text value:out size:z
getxattrat dfd:at pathname:text at_flags:u name:p uargs:p usize:z
init_module umod:p len:z uargs:text
inotify_add_watch fd:d pathname:text mask:inotify
inotify_init
inotify_init1 flags:inotifyinit
inotify_rm_watch fd:d wd:d
io_cancel ctx_id:x iocb:p result:p
io_destroy ctx:x
io_getevents ctx_id:x min_nr:l nr:l events:p timeout:p
io_pgetevents ctx_id:x min_nr:l nr:l events:p timeout:p usig:p
io_setup nr_events:u ctxp:p
io_submit ctx_id:x nr:l iocbpp:p
io_uring_enter fd:d to_submit:u min_complete:u flags:uringenter argp:p argsz:z
io_uring_register fd:d opcode:uringop arg:p nr_args:u
io_uring_setup entries:u params:p
ioctl fd:d cmd:ioctl arg:x?1!0x540c,0x540d,0x5422,0x5450,0x5451
ioperm from:x num:x turn_on:d
iopl level:u
ioprio_get which:d who:d
ioprio_set which:d who:d ioprio:d
kcmp pid1:d pid2:d type:d idx1:x?2=0,7 idx2:x?2=0,7
kexec_load entry:p nr_segments:x segments:p flags:x
keyctl option:d arg2:x?0!18 arg3:x?0!1,3,7,14,16,18,21 arg4:x?0!0,1,3,5,7,8,9,14,15,16,18,21,22,31
	arg5:x?0=10,12,19,20,23,24,25,26,27,28,30
kill pid:d sig:sig
landlock_add_rule ruleset_fd:d rule_type:d rule_attr:p flags:u
landlock_create_ruleset attr:p size:z flags:u
landlock_restrict_self ruleset_fd:d flags:u
lchown filename:text user:d group:d
lgetxattr pathname:text name:text value:out size:z
link oldname:text newname:text
linkat olddfd:at oldname:text newdfd:at newname:text flags:atflags
listen fd:d backlog:d
listmount req:p mnt_ids:p nr_mnt_ids:z flags:u
listxattr pathname:text list:p size:z
listxattrat dfd:at pathname:text at_flags:u list:p size:z
llistxattr pathname:text list:p size:z
lremovexattr pathname:text name:text
lseek fd:d offset:l whence:whence
lsetxattr pathname:text name:text value:in(size) size:z flags:xattr
lsm_get_self_attr attr:u ctx:p size:p flags:u
lsm_list_modules ids:p size:p flags:u
lsm_set_self_attr attr:u ctx:p size:u flags:u
lstat filename:text statbuf:p
madvise start:p len_in:z behavior:madvise
mbind start:p len:x mode:x nmask:p maxnode:x flags:u
membarrier cmd:membarrier flags:u cpu_id:d?1&1
memfd_create uname:text flags:memfd
memfd_secret flags:open
migrate_pages pid:d maxnode:x old_nodes:p new_nodes:p
mincore start:p len:z vec:p
mkdir pathname:text mode:mode
mkdirat dfd:at pathname:text mode:mode
mknod filename:text mode:mode dev:u?1/0170000=020000,060000
mknodat dfd:at filename:text mode:mode dev:u?2/0170000=020000,060000
mlock start:p len:z
mlock2 start:p len:z flags:d
mlockall flags:mlockall
mmap addr:p len:z prot:prot flags:map fd:d off:x
modify_ldt func:d ptr:p bytecount:x
mount dev_name:text dir_name:text type:text flags:mount data:p
mount_setattr dfd:at path:text flags:x uattr:p usize:z
move_mount from_dfd:at from_pathname:text to_dfd:at to_pathname:text flags:x
move_pages pid:d nr_pages:x pages:p nodes:p status:p flags:d
mprotect start:p len:z prot:prot
mq_getsetattr mqdes:d u_mqstat:p u_omqstat:p
mq_notify mqdes:d u_notification:p
mq_open u_name:text oflag:open mode:mode?1&0100 u_attr:p?1&0100
mq_timedreceive mqdes:d u_msg_ptr:out msg_len:z u_msg_prio:p u_abs_timeout:p
mq_timedsend mqdes:d u_msg_ptr:in(msg_len) msg_len:z msg_prio:u u_abs_timeout:p
mq_unlink u_name:text
mremap addr:p old_len:z new_len:z flags:mremap new_addr:p?3&6
mseal start:p len:z flags:x
msgctl msqid:d cmd:msgctl buf:p?1!0
msgget key:d msgflg:d
msgrcv msqid:d msgp:p msgsz:z msgtyp:l msgflg:d
msgsnd msqid:d msgp:p msgsz:z msgflg:d
msync start:p len:z flags:msync
munlock start:p len:z
munlockall
munmap addr:p len:z
name_to_handle_at dfd:at name:p handle:p mnt_id:p flag:atflags
nanosleep rqtp:timespec rmtp:p
newfstatat dfd:at filename:text statbuf:p flag:atflags
open filename:text flags:open mode:mode?1&020000100
open_by_handle_at mountdirfd:d handle:p flags:open
open_tree dfd:at filename:text flags:opentree
open_tree_attr dfd:at filename:text flags:opentree uattr:p usize:z
openat dfd:at filename:text flags:open mode:mode?2&020000100
openat2 dfd:at filename:text how:open_how usize:z
pause
perf_event_open attr_uptr:p pid:d cpu:d group_fd:d flags:perf
personality personality:x
pidfd_getfd pidfd:d fd:d flags:u
pidfd_open pid:d flags:u
pidfd_send_signal pidfd:d sig:sig info:p flags:u
pipe fildes:int[2]*
pipe2 fildes:int[2]* flags:open
pivot_root new_root:text put_old:text
pkey_alloc flags:x init_val:x
pkey_free pkey:d
pkey_mprotect start:p len:z prot:prot pkey:d
poll ufds:pollfd[nfds] nfds:u timeout_msecs:d
ppoll ufds:pollfd[nfds] nfds:u tsp:timespec sigmask:p sigsetsize:z
prctl option:prctl arg2:x?0!1,3,4,7,8,13,15,16,21,23,24,27,29,30,31,32,34,36,38,39,42,43,44,46,51,56,58,61,64,66,68,70,0x59616d61
	^arg2:sig/8?0=1 ^arg2:l?0=4,8,23,24,29,36,38,0x59616d61 ^arg2:text?0=15 ^arg2:text*?0=16
	arg3:x?0=22,33,35,47,53,59,60,62,71,73,78,0x53564d41,0x41555856
	arg4:x?0=35,59,62,78,0x53564d41 arg5:x?0=35,59,62,0x53564d41
pread64 fd:d buf:out count:z pos:l
preadv fd:d vec:p vlen:z pos_l:x pos_h:x
preadv2 fd:d vec:p vlen:z pos_l:x pos_h:x flags:rwf
prlimit64 pid:d resource:rlimit new_rlim:rlimit64 old_rlim:rlimit64*
process_madvise pidfd:d vec:p vlen:z behavior:madvise flags:u
process_mrelease pidfd:d flags:u
process_vm_readv pid:d lvec:p liovcnt:z rvec:p riovcnt:x flags:x
process_vm_writev pid:d lvec:p liovcnt:z rvec:p riovcnt:x flags:x
pselect6 n:d inp:p outp:p exp:p tsp:timespec sig:p
ptrace request:ptrace pid:l?0!0 addr:x?0!0,7,8,9,12,13,16,17,24,0x4200,0x4201,0x4202,0x4203,0x4206,0x4207,0x4208
	data:x?0!0,8,16,0x4207,0x4208
pwrite64 fd:d buf:in(count) count:z pos:l
pwritev fd:d vec:p vlen:z pos_l:x pos_h:x
pwritev2 fd:d vec:p vlen:z pos_l:x pos_h:x flags:rwf
quotactl cmd:u special:text id:u addr:p
quotactl_fd fd:d cmd:u id:u addr:p
read fd:d buf:out count:z
readahead fd:d offset:l count:z
readlink path:text buf:out bufsiz:d
readlinkat dfd:at pathname:text buf:out bufsiz:d
readv fd:d vec:p vlen:z
reboot magic1:d magic2:d cmd:x arg:p?2=0xa1b2c3d4
recvfrom fd:d ubuf:out size:z flags:msg addr:addr(addr_len)* addr_len:p
recvmmsg fd:d mmsg:p vlen:u flags:msg timeout:p
recvmsg fd:d msg:p flags:msg
remap_file_pages start:p size:x prot:x pgoff:x flags:x
removexattr pathname:text name:text
removexattrat dfd:at pathname:text at_flags:u name:p
rename oldname:text newname:text
renameat olddfd:at oldname:text newdfd:at newname:text
renameat2 olddfd:at oldname:text newdfd:at newname:text flags:rename
request_key _type:text _description:text _callout_info:p destringid:d
restart_syscall
rmdir pathname:text
rseq rseq:p rseq_len:u flags:d sig:u
rt_sigaction sig:sig act:p oact:p sigsetsize:z
rt_sigpending uset:p sigsetsize:z
rt_sigprocmask how:sighow nset:p oset:p sigsetsize:z
rt_sigqueueinfo pid:d sig:sig uinfo:p
rt_sigreturn
rt_sigsuspend unewset:p sigsetsize:z
rt_sigtimedwait uthese:p uinfo:p uts:timespec sigsetsize:z
rt_tgsigqueueinfo tgid:d pid:d sig:sig uinfo:p
sched_get_priority_max policy:sched
sched_get_priority_min policy:sched
sched_getaffinity pid:d len:u user_mask_ptr:p
sched_getattr pid:d uattr:p usize:u flags:u
sched_getparam pid:d param:p
sched_getscheduler pid:d
sched_rr_get_interval pid:d interval:p
sched_setaffinity pid:d len:u user_mask_ptr:p
sched_setattr pid:d uattr:p flags:u
sched_setparam pid:d param:p
sched_setscheduler pid:d policy:sched param:p
sched_yield
seccomp op:seccomp flags:u uargs:p
select n:d inp:p outp:p exp:p tvp:p
semctl semid:d semnum:d cmd:semctl arg:x?2!0,11,12,14,15,16 ^arg:d?2=16
semget key:d nsems:d semflg:d
semop semid:d tsops:p nsops:u
semtimedop semid:d tsops:p nsops:u timeout:timespec
sendfile out_fd:d in_fd:d offset:p count:z
sendmmsg fd:d mmsg:p vlen:u flags:msg
sendmsg fd:d msg:p flags:msg
sendto fd:d buff:in(len) len:z flags:msg addr:addr(addr_len) addr_len:d
set_mempolicy mode:d nmask:p maxnode:x
set_mempolicy_home_node start:p len:x home_node:x flags:x
set_robust_list head:p len:z
set_tid_address tidptr:p
setdomainname name:in(len) len:d
setfsgid gid:d
setfsuid uid:d
setgid gid:d
setgroups gidsetsize:d grouplist:p
sethostname name:in(len) len:d
setitimer which:itimer value:p ovalue:p
setns fd:d flags:clone
setpgid pid:d pgid:d
setpriority which:prio who:d niceval:d
setregid rgid:d egid:d
setresgid rgid:d egid:d sgid:d
setresuid ruid:d euid:d suid:d
setreuid ruid:d euid:d
setrlimit resource:rlimit rlim:rlimit64
setsid
setsockopt fd:d level:level optname:d optval:p optlen:d
settimeofday tv:p tz:p
setuid uid:d
setxattr pathname:text name:text value:in(size) size:z flags:xattr
setxattrat dfd:at pathname:text at_flags:u name:p uargs:p usize:z
shmat shmid:d shmaddr:p shmflg:d
shmctl shmid:d cmd:shmctl buf:p?1!0,11,12
shmdt shmaddr:p
shmget key:d size:z shmflg:d
shutdown fd:d how:shutdown
sigaltstack uss:p uoss:p
signalfd ufd:d user_mask:p sizemask:z
signalfd4 ufd:d user_mask:p sizemask:z flags:signalfd
socket family:family type:sock protocol:d
socketpair family:family type:sock protocol:d usockvec:int[2]*
splice fd_in:d off_in:p fd_out:d off_out:p len:z flags:splice
stat filename:text statbuf:p
statfs pathname:text buf:p
statmount req:p buf:p bufsize:z flags:u
statx dfd:at filename:text flags:atflags mask:statx buffer:p
swapoff specialfile:text
swapon specialfile:text swap_flags:d
symlink oldname:text newname:text
symlinkat oldname:text newdfd:at newname:text
sync
sync_file_range fd:d offset:l nbytes:l flags:syncrange
syncfs fd:d
sysfs option:d arg1:x arg2:x
sysinfo info:p
syslog type:d buf:p?0=2,3,4 len:d?0=2,3,4,8
tee fdin:d fdout:d len:z flags:splice
tgkill tgid:d pid:d sig:sig
time tloc:p
timer_create which_clock:clock timer_event_spec:p created_timer_id:p
timer_delete timer_id:d
timer_getoverrun timer_id:d
timer_gettime timer_id:d setting:p
timer_settime timer_id:d flags:timer new_setting:p old_setting:p
timerfd_create clockid:clock flags:timerfd
timerfd_gettime ufd:d otmr:p
timerfd_settime ufd:d flags:timersettime utmr:p otmr:p
times tbuf:p
tkill pid:d sig:sig
truncate path:text length:l
umask mask:mode
umount2 name:text flags:umount
uname name:p
unlink pathname:text
unlinkat dfd:at pathname:text flag:atflags
unshare unshare_flags:clone
uprobe
uretprobe
uselib library:text
userfaultfd flags:open
ustat dev:u ubuf:p
utime filename:text times:p
utimensat dfd:at filename:text utimes:p flags:atflags
utimes filename:text utimes:p
vfork
vhangup
vmsplice fd:d uiov:p nr_segs:x flags:splice
wait4 upid:d stat_addr:int* options:wait ru:p
waitid which:idtype upid:d infop:p options:wait ru:p
write fd:d buf:in(count) count:z
writev fd:d vec:p vlen:z
`
