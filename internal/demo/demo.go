// Package demo is the small workload behind `trocar demo`: a kitchen that takes, cooks and serves orders.
//
// The functions to be traced are kitchen_order, kitchen_cook, kitchen_stir and kitchen_serve. They are part of this
// binary, so that there is something to trace on any machine, without a compiler; and they are written in assembly that
// follows the C calling convention, so that they look like functions of most programs: arguments in registers, frame
// pointers in place. Their names have no package in front and are found in the binary's .gopclntab, which stripping
// leaves there.
package demo

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"
)

// dish is one entry of the menu.
type dish struct {
	name  string // ends with a zero byte: it is a C string for the functions
	cents int64
	work  int64 // turns of the loop that cooks it
}

func menu() []dish {
	return []dish{
		{"soup\x00", 450, 20_000},
		{"salad\x00", 690, 5_000},
		{"noodles\x00", 1150, 60_000},
		{"fish\x00", 1890, 150_000},
		{"roast\x00", 2350, 900_000},
	}
}

// tables is how many there are in the room.
const tables = 12

// Workload takes an order every pause until ctx ends.
func Workload(ctx context.Context, pause time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dishes := menu()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// The smaller of two random numbers: cheap dishes are asked for more often.
			d := &dishes[min(rand.IntN(len(dishes)), rand.IntN(len(dishes)))]
			name := []byte(d.name)
			order(1+rand.Int64N(tables), &name[0], d.cents, d.work)
		}
	}
}

// order calls kitchen_order(table, dish, cents, work) by the C convention; that calls kitchen_cook(dish, work), which
// calls kitchen_stir(turns) twice, and then kitchen_serve(table, dish).
//
//go:noescape
func order(table int64, dish *byte, cents, work int64)
