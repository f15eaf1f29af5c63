package codegen_test

import (
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/compile/check"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// strange is an expression that no stage knows.
type strange struct{ check.E }

// TestUnknownRefused: a word that the code generator does not know is refused, and never means another one.
func TestUnknownRefused(t *testing.T) {
	series := func(agg types.Kind) (*check.Map, check.Stmt) {
		value := types.SeriesOf(types.SeriesSpec{IntervalNS: 1e9, Count: 4, Agg: agg, Signed: true})
		m := &check.Map{Name: "@", Value: value, Max: 1}
		return m, &check.Aggregate{Map: m, Args: []check.Expr{tree{}.num(1, types.TInt64)}}
	}
	loop := func(jump string) check.Stmt {
		return &check.While{Cond: tree{}.num(1, types.TInt64), Body: tree{}.block(tree{}.jump(jump))}
	}
	argument := func(kind types.PlaceKind) (check.Stmt, []probe.Var) {
		v := probe.Var{Name: "x", Type: types.TInt64, Place: types.Place{Kind: types.InPieces, Pieces: []types.Piece{
			{Size: 8, Place: types.Place{Kind: kind}},
		}}}
		return tree{}.print(&check.ArgRef{E: check.E{T: types.TInt64}}), []probe.Var{v}
	}
	for _, arch := range []*abi.Arch{abi.AMD64, abi.ARM64} {
		try := func(name, want string, maps []*check.Map, args []probe.Var, stmt check.Stmt) {
			t.Helper()
			at := points(probe.Uprobe, 1)
			at[0].Scope = &probe.Scope{Args: args}
			opts := codegen.Options{Features: feature.All, Arch: arch, CPUs: 2}
			_, err := compile(tree{}.program(at, maps, nil, stmt), opts)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		for _, jump := range []string{"break", "continue", "return"} {
			try(jump, "", nil, nil, loop(jump))
		}
		try("jump", `jump "leap"`, nil, nil, loop("leap"))
		for _, agg := range []types.Kind{types.None, types.Sum, types.Min, types.Max, types.Avg} {
			m, stmt := series(agg)
			try("tseries", "", []*check.Map{m}, nil, stmt)
		}
		m, stmt := series(types.Hist)
		try("tseries of histograms", "no code for a tseries()", []*check.Map{m}, nil, stmt)
		stmt, args := argument(types.Constant)
		try("location", "", nil, args, stmt)
		stmt, args = argument(types.InContext + 1)
		try("unknown location", "location of kind", nil, args, stmt)
		try("expression", "no code for expression", nil, nil, tree{}.do(&strange{check.E{T: types.TInt64}}))
	}
}
