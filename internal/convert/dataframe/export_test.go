package dataframe

// InGroups is Parquet with row groups of so many rows each.
var InGroups = inGroups
