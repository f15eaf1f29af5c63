package syntax

// IncludeOptions say where headers are.
type IncludeOptions struct{}

type cSegment struct{ start, end int }
