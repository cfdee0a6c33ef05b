// Package lab measures what a placement of the norm does: the residual stream and the gradients before any training ([Init]), the paths by which
// a gradient reaches the bottom ([Paths]), training runs of several placements on the same batches ([Compare], [Rates]), the loss without each
// block of a trained model ([Drop]), and the scorecard of published claims ([Repro]).
//
// Every measurement is a value; package report turns values into CSV, plots and a page.
package lab
