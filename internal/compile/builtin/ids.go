package builtin

// ID is a builtin: what the stages behind know it by. The zero value is none.
type ID uint8

// Builtins, by group, in the order of the reference.
const (
	None ID = iota

	PID
	TID
	RoutineID
	RoutineFrame
	UID
	GID
	UserName
	Comm
	CPID
	HasCPID
	PPID
	PComm
	LeaderTID
	LeaderComm
	CurTask
	Cgroup
	SyscallID
	Traced
	Tracer

	Probe
	ProbeType
	FuncName // func
	FuncArgs
	FuncRetVal
	FuncReturn
	FuncReturns
	CallFrame
	SyscallArgs
	SyscallDone
	SyscallResult
	Args
	Vars
	ArgN
	RetVal
	Duration
	Reg
	Ctx
	UserMode

	NSecs
	Elapsed
	Jiffies
	StrFTime
	Time

	Printf
	Print
	Errorf
	Warnf
	Debugf
	Snapshot
	Join
	Cat
	System

	Delete
	HasKey
	Find
	Len
	Clear
	Zero
	IsScalar

	Count
	Sum
	Min
	Max
	Avg
	Stats
	Hist
	LHist
	TSeries
	Times

	Str
	Buf
	StrNCmp
	StrContains
	StrStr
	StrLen
	StrCap
	StrConcat
	DefaultStrLength
	StrError
	ErrnoName
	SignalName
	SyscallName
	NToP
	PToN
	MACAddr
	AssertStr

	UAddr
	KAddr
	PerCPUKAddr
	KPtr
	UPtr
	BSwap
	MemCmp
	IsErr
	WriteUser
	Path
	SkbOutput
	SocketCookie
	Unwatch
	ContainerOf

	UStack
	DwUStack
	KStack
	USym
	KSym

	SizeOf
	OffsetOf
	TypeOf
	TypeInfo
	IsStr
	IsPtr
	IsArray
	IsInteger
	IsUnsignedInteger
	IsLiteral
	GetOpt
	Config
	Fail
	StaticAssert
	KFuncExist
	KFuncAllowed
	Arch
	SafeMode

	Exit
	Assert
	Signal
	SignalThread
	Override
	CPU
	NCPUs
	NUMAID
	Rand
	CgroupID
	CgroupPath

	NumIDs // how many IDs there are
)
