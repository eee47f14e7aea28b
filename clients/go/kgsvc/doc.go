// Package kgsvc is a client of kgsvc, a memory service: what was said, what is known, and what was true when.
//
//	client, err := kgsvc.NewClient(nil)
//	memory := client.Group("alice")
//	receipt, err := memory.Add(ctx, kgsvc.Texts("Alice moved to Berlin."), &kgsvc.AddOptions{Wait: true})
//	text, err := memory.Context(ctx, "Where does Alice live?", nil)
//
// Every call ends with its context. Where that has no deadline, a call has the client's [Options].Timeout with all
// its attempts; waiting and reading of long documents have ten minutes, answers two. What fails is an [*Error].
package kgsvc

import "time"

// Version of this package.
const Version = "0.1.0"

// Must returns the value, and panics where there is an error: for short programs.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Day is when a day begins, by UTC.
func Day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
