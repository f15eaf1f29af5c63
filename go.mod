module trocar

go 1.26.0
