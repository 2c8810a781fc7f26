// Package journal writes down what a worker or a producer asks of the database,
// and what it learns in return: each operation with its begin and its end. An
// operation without an end has an unknown outcome. The fault test reads journals
// and holds them against what the database says.
//
// A journal is a line of JSON per event, each written at once.
package journal
