package taskstore

import (
	"fmt"
	"strings"
)

// Columns that stay as they are wherever a task moves. headers, payload and the
// like are never changed after the enqueue.
var fixedColumns = []string{
	"priority", "kind", "payload", "partition_key",
	"max_attempts", "timeout_ms", "created_at", "headers", "id_given",
}

// columns lists names for a SELECT, each taken from alias.
func columns(alias string, names ...string) string {
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = fmt.Sprintf("%s.%s AS %s", alias, name, name)
	}
	return strings.Join(items, ", ")
}

// texts are the statements of one folder. A text never changes after it is
// made, so that the database plans each once.
type texts struct {
	prefix     string
	enqueue    [1 << 3]string // by which lists of tasks there are
	batch      string
	knownID    string
	candidates map[int]string // by number of partitions
	claim      string
	finish     [1 << 6]string // by which outcomes there are, and what they leave behind
	resolve    string
	peek       map[int]string
	promote    map[int]string
	bury       string
	buryDue    string
	raise      string
	runnable   string
	delayed    string
	stats      string
	partitions string
	places     string
	dead       string
	replay     string
	settings   string
}

func newTexts(folder string) texts {
	t := texts{prefix: fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n", folder)}
	for lists := range t.enqueue { // none: of a batch that is split
		t.enqueue[lists] = t.prefix + enqueueText(taskLists(lists))
	}
	t.batch = t.prefix + batchText
	t.knownID = t.prefix + knownIDText
	t.candidates = t.byArms(candidatesText)
	t.claim = t.prefix + claimText
	for parts := range t.finish {
		t.finish[parts] = t.prefix + finishText(finishParts(parts))
	}
	t.resolve = t.prefix + resolveText
	t.peek = t.byArms(peekText)
	t.promote = t.byArms(promoteText)
	t.bury = t.prefix + buryText
	t.buryDue = t.prefix + buryDueText
	t.raise = t.prefix + raiseText
	t.runnable = t.prefix + runnableText
	t.delayed = t.prefix + delayedText
	t.stats = t.prefix + statsText
	t.partitions = t.prefix + partitionsText
	t.places = t.prefix + placesText
	t.dead = t.prefix + deadText
	t.replay = t.prefix + replayText
	t.settings = t.prefix + settingsText
	return t
}

// maxArms is how many partitions one text reads. It keeps the texts within the
// 10 KB that YDB documents as the limit, with the longest name of a folder.
const maxArms = 32

// byArms makes a text for 1, 2, 4 .. maxArms partitions. A few texts serve every
// number of partitions: what is left over reads a partition that does not exist.
func (t *texts) byArms(text func(arms int) string) map[int]string {
	made := map[int]string{}
	for arms := 1; arms <= maxArms; arms *= 2 {
		made[arms] = t.prefix + text(arms)
	}
	return made
}

// noPartition is the partition that spare arms read: none, see task.MaxPartitions.
const noPartition = ^uint16(0)

// armsFor returns the smallest text that serves n partitions.
func armsFor(n int) int {
	arms := 1
	for arms < n {
		arms *= 2
	}
	return arms
}

// union writes one arm per partition, each a SELECT with its own ORDER BY and LIMIT.
func union(arms int, arm func(i int) string) string {
	selects := make([]string, arms)
	for i := range selects {
		selects[i] = "(" + arm(i) + ")"
	}
	return strings.Join(selects, "\nUNION ALL\n")
}
