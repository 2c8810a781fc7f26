package migrate

import (
	"errors"
	"fmt"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// What Check, Up and Down can find wrong. Each comes wrapped in a text that says what
// to run.
var (
	ErrNoSchema    = errors.New("no taskfleet schema")
	ErrOlderSchema = errors.New("older schema")
	ErrNewerSchema = errors.New("newer schema")
	ErrPartitions  = errors.New("partition count differs")
	ErrUnfinished  = errors.New("unfinished tasks")
	ErrBusy        = errors.New("another migration is running")
)

// command is the taskctl command that a person would run on this fleet.
func command(db *ydb.Driver, folder, verb string) string {
	scheme := "grpc"
	if db.Secure() {
		scheme = "grpcs"
	}
	return fmt.Sprintf("`taskctl migrate %s --endpoint %s://%s%s --folder %s`", verb, scheme, db.Endpoint(), db.Name(), folder)
}

func noSchema(db *ydb.Driver, folder string) error {
	return fmt.Errorf("%w in folder %s of %s: run %s", ErrNoSchema, folder, db.Name(), command(db, folder, "up"))
}

func checkVersion(db *ydb.Driver, folder string, have int64) error {
	switch {
	case have == 0:
		return noSchema(db, folder)
	case have < Version:
		return fmt.Errorf("%w: folder %s is at version %d, this binary needs %d: run %s",
			ErrOlderSchema, folder, have, Version, command(db, folder, "up"))
	case have > Version:
		return fmt.Errorf("%w: folder %s is at version %d, this binary knows %d: run a newer release of this binary",
			ErrNewerSchema, folder, have, Version)
	}
	return nil
}

func checkPartitions(folder string, want, have int) error {
	if want == 0 || have == 0 || want == have {
		return nil
	}
	return fmt.Errorf("%w: the fleet in folder %s has %d, not %d: the count is fixed when a fleet is made; leave --partitions out, or make another fleet with --folder",
		ErrPartitions, folder, have, want)
}
