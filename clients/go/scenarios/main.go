// The driver of clients/scenarios for Go; see the README there. Started as SETUP SCENARIOS.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/kgsvc/kgsvc/clients/go/kgsvc"
)

// object is an object of JSON.
type object = map[string]any

type world struct {
	Server string            `json:"server"`
	TLSCA  string            `json:"tls_ca"`
	Tokens map[string]string `json:"tokens"`
}

type setup struct {
	Worlds  map[string]world `json:"worlds"`
	Control string           `json:"control"`
	Group   string           `json:"group"`
}

type scenario struct {
	Name     string   `json:"name"`
	World    string   `json:"world"`
	Token    string   `json:"token"`
	TimeoutS float64  `json:"timeout_s"`
	Steps    []object `json:"steps"`
}

func main() {
	var (
		given     setup
		scenarios []scenario
		problems  int
	)
	read(os.Args[1], &given)
	read(os.Args[2], &scenarios)
	for number, each := range scenarios {
		told := object{"name": each.Name, "problem": nil}
		if problem := run(given, number, each); problem != nil {
			told["problem"] = problem.Error()
			problems = 1
		}
		line := kgsvc.Must(json.Marshal(told))
		fmt.Println(string(line))
	}
	os.Exit(problems)
}

func read(path string, into any) {
	if err := json.Unmarshal(kgsvc.Must(os.ReadFile(path)), into); err != nil {
		panic(err)
	}
}

// run carries out a scenario, and tells why it failed.
func run(given setup, number int, wanted scenario) error {
	name := "open"
	if wanted.World != "" {
		name = wanted.World
	}
	there := given.Worlds[name]
	client, err := kgsvc.NewClient(&kgsvc.Options{
		Server: there.Server, Token: there.Tokens[wanted.Token], TLSCA: there.TLSCA,
		Timeout: time.Duration(wanted.TimeoutS * float64(time.Second)),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	group := client.Group(fmt.Sprintf("%s-%d", given.Group, number))
	kept := kept{raw: object{}, plain: object{}}
	for at, step := range wanted.Steps {
		if problem := carryOut(given, group, step, kept); problem != nil {
			return fmt.Errorf("step %d, %v: %w", at, step["do"], problem)
		}
	}
	return nil
}

func carryOut(given setup, group *kgsvc.Group, step object, kept kept) error {
	before := resident()
	result, err := perform(context.Background(), given, group, arguments{step, kept})
	if wanted, fails := step["error"]; fails || err != nil {
		return refused(wanted, result, err)
	}
	if most, bounded := step["grows_mib"].(float64); bounded && resident()-before > most {
		return fmt.Errorf("the process grew by %.0f MiB", resident()-before)
	}
	found := plain(result)
	if name, named := step["as"].(string); named {
		kept.raw[name], kept.plain[name] = result, found
	}
	if part, wanted := step["contains"].(string); wanted && !strings.Contains(fmt.Sprint(found), part) {
		return fmt.Errorf("%v does not contain %q", found, part)
	}
	if distinct, wanted := step["distinct"].(float64); wanted {
		if err := check(distinct, plain(different(found)), "distinct"); err != nil {
			return err
		}
	}
	return check(kept.filled(step["expect"]), found, "result")
}

// refused tells what is wrong with how a step failed, or that it did not.
func refused(wanted, result any, err error) error {
	var failure *kgsvc.Error
	if !errors.As(err, &failure) {
		return fmt.Errorf("answered %v, and the error is %v", plain(result), err)
	}
	fields := []any{}
	for _, each := range failure.Fields {
		fields = append(fields, each.Field)
	}
	found := object{"code": string(failure.Code), "fields": fields, "request_id": failure.RequestID != "",
		"retry_after": failure.RetryAfter > 0}
	if wanted == nil {
		return fmt.Errorf("failed: %w (%v)", err, found)
	}
	return check(wanted, found, "error")
}

// different counts the entries of a listing; none if two are alike.
func different(found any) int {
	entries, seen := found.([]any), map[string]bool{}
	for _, entry := range entries {
		seen[string(kgsvc.Must(json.Marshal(entry)))] = true
	}
	if len(seen) != len(entries) {
		return 0
	}
	return len(entries)
}

// collected are all entries of a listing.
func collected[T any](listing iter.Seq2[T, error]) ([]T, error) {
	found := []T{}
	for entry, err := range listing {
		if err != nil {
			return nil, err
		}
		found = append(found, entry)
	}
	return found, nil
}

// resident is the most memory that the process had, in MiB.
func resident() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Maxrss) / 1024
}
