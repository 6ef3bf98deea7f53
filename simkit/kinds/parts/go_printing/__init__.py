"""Go values as error messages print them: ``%#v``, generated ``String`` methods, and the reports of go-cmp."""
