package task_test

import (
	"errors"
	"fmt"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Equal keys share a partition, whoever computes it.
func ExamplePartitionOf() {
	fmt.Println(task.PartitionOf("repository/taskfleet", 256) == task.PartitionOf("repository/taskfleet", 256))
	// Output: true
}

// Every violated limit is reported, each with its field.
func ExampleTask_Validate() {
	t := task.Task{Kind: "email", MaxAttempts: 2000, Delay: -1}
	err := t.Validate()
	fmt.Println(errors.Is(err, task.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// max_attempts 2000: must be 0..1000
	// delay -1ns: must be 0..8784h0m0s
}
