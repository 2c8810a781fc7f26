// Package rebalancer decides which partitions this worker owns, from when until
// when.
package rebalancer
