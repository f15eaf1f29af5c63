package trocar

import (
	"trocar/internal/kernel"
	"trocar/internal/process/target"
)

// Machine is what a machine offers for tracing: rights, settings, features of its kernel.
type Machine = kernel.Report

// Inspect asks the machine for everything, by trying: without the rights to trace all features seem to be absent.
func Inspect() *Machine { return kernel.Inspect(kernel.NewFeatures()) }

// Unavailable tells whether an error is for want of rights or of something that the kernel lacks.
func Unavailable(err error) bool { return kernel.Unavailable(err) }

// LaunchError says why a command could not be started.
type LaunchError = target.LaunchError
