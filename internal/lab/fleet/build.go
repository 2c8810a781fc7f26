package fleet

import (
	"fmt"
	"os/exec"
)

// Build compiles the programs that a fleet consists of into the folder dir.
func Build(dir string) error {
	const commands = "github.com/taskfleet/taskfleet/cmd/"
	out, err := exec.Command("go", "build", "-o", dir+"/", commands+"ydbembed", commands+"worker", commands+"producer").CombinedOutput()
	if err != nil {
		return fmt.Errorf("fleet: build the programs: %w\n%s", err, out)
	}
	return nil
}
