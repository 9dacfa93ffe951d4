//! End-to-end tests of stepscope: the built program on real runs. The tests are in `e2e/`, an independent
//! computation of the report's figures is in `crosscheck/`; there is nothing to use from here.
