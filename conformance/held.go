package conformance

// required are the tests that the project promises to pass.
var required = []string{
	"TestCoordinationSemaphore",
	"TestCoordinationSemaphoreWatch",
}

// held are the further tests that pass already and must keep passing.
var held = []string{}
