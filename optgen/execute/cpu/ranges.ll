; Made from ranges.c by `python -m optgen.objectcode.generate`, with clang 22.1.8.
; SHA-256 of ranges.c: 6cab818db2ab2d58e838845a4c796c640f6c0fca991de5fee5945e92a36d659b

%struct.ranges = type { i64, ptr, ptr, ptr, i64, ptr, ptr }

define i64 @optgen_ranges_check(ptr %0) {
  %2 = alloca i64, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 0, ptr %4, align 8
  br label %8

8:
  %9 = load i64, ptr %4, align 8
  %10 = load ptr, ptr %3, align 8
  %11 = getelementptr inbounds %struct.ranges, ptr %10, i32 0, i32 0
  %12 = load i64, ptr %11, align 8
  %13 = icmp slt i64 %9, %12
  br i1 %13, label %14, label %69

14:
  %15 = load ptr, ptr %3, align 8
  %16 = getelementptr inbounds %struct.ranges, ptr %15, i32 0, i32 1
  %17 = load ptr, ptr %16, align 8
  %18 = load i64, ptr %4, align 8
  %19 = getelementptr inbounds i64, ptr %17, i64 %18
  %20 = load i64, ptr %19, align 8
  store i64 %20, ptr %5, align 8
  %21 = load ptr, ptr %3, align 8
  %22 = getelementptr inbounds %struct.ranges, ptr %21, i32 0, i32 2
  %23 = load ptr, ptr %22, align 8
  %24 = load i64, ptr %4, align 8
  %25 = getelementptr inbounds i64, ptr %23, i64 %24
  %26 = load i64, ptr %25, align 8
  store i64 %26, ptr %6, align 8
  %27 = load i64, ptr %6, align 8
  %28 = icmp ne i64 %27, 0
  br i1 %28, label %30, label %29

29:
  br label %66

30:
  %31 = load ptr, ptr %3, align 8
  %32 = load i64, ptr %5, align 8
  %33 = call i64 @search(ptr %31, i64 %32)
  store i64 %33, ptr %7, align 8
  %34 = load i64, ptr %5, align 8
  %35 = icmp ne i64 %34, 0
  br i1 %35, label %36, label %63

36:
  %37 = load i64, ptr %5, align 8
  %38 = load ptr, ptr %3, align 8
  %39 = getelementptr inbounds %struct.ranges, ptr %38, i32 0, i32 3
  %40 = load ptr, ptr %39, align 8
  %41 = load i64, ptr %4, align 8
  %42 = getelementptr inbounds i64, ptr %40, i64 %41
  %43 = load i64, ptr %42, align 8
  %44 = urem i64 %37, %43
  %45 = icmp ne i64 %44, 0
  br i1 %45, label %63, label %46

46:
  %47 = load i64, ptr %7, align 8
  %48 = load ptr, ptr %3, align 8
  %49 = getelementptr inbounds %struct.ranges, ptr %48, i32 0, i32 4
  %50 = load i64, ptr %49, align 8
  %51 = icmp slt i64 %47, %50
  br i1 %51, label %52, label %65

52:
  %53 = load ptr, ptr %3, align 8
  %54 = getelementptr inbounds %struct.ranges, ptr %53, i32 0, i32 5
  %55 = load ptr, ptr %54, align 8
  %56 = load i64, ptr %7, align 8
  %57 = getelementptr inbounds i64, ptr %55, i64 %56
  %58 = load i64, ptr %57, align 8
  %59 = load i64, ptr %5, align 8
  %60 = load i64, ptr %6, align 8
  %61 = add i64 %59, %60
  %62 = icmp ult i64 %58, %61
  br i1 %62, label %63, label %65

63:
  %64 = load i64, ptr %4, align 8
  store i64 %64, ptr %2, align 8
  br label %70

65:
  br label %66

66:
  %67 = load i64, ptr %4, align 8
  %68 = add nsw i64 %67, 1
  store i64 %68, ptr %4, align 8
  br label %8

69:
  store i64 -1, ptr %2, align 8
  br label %70

70:
  %71 = load i64, ptr %2, align 8
  ret i64 %71
}

define internal i64 @search(ptr %0, i64 %1) {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  store i64 0, ptr %5, align 8
  %8 = load ptr, ptr %3, align 8
  %9 = getelementptr inbounds %struct.ranges, ptr %8, i32 0, i32 4
  %10 = load i64, ptr %9, align 8
  store i64 %10, ptr %6, align 8
  br label %11

11:
  %12 = load i64, ptr %5, align 8
  %13 = load i64, ptr %6, align 8
  %14 = icmp slt i64 %12, %13
  br i1 %14, label %15, label %36

15:
  %16 = load i64, ptr %5, align 8
  %17 = load i64, ptr %6, align 8
  %18 = load i64, ptr %5, align 8
  %19 = sub nsw i64 %17, %18
  %20 = sdiv i64 %19, 2
  %21 = add nsw i64 %16, %20
  store i64 %21, ptr %7, align 8
  %22 = load ptr, ptr %3, align 8
  %23 = getelementptr inbounds %struct.ranges, ptr %22, i32 0, i32 6
  %24 = load ptr, ptr %23, align 8
  %25 = load i64, ptr %7, align 8
  %26 = getelementptr inbounds i64, ptr %24, i64 %25
  %27 = load i64, ptr %26, align 8
  %28 = load i64, ptr %4, align 8
  %29 = icmp ugt i64 %27, %28
  br i1 %29, label %30, label %32

30:
  %31 = load i64, ptr %7, align 8
  store i64 %31, ptr %6, align 8
  br label %35

32:
  %33 = load i64, ptr %7, align 8
  %34 = add nsw i64 %33, 1
  store i64 %34, ptr %5, align 8
  br label %35

35:
  br label %11

36:
  %37 = load i64, ptr %5, align 8
  ret i64 %37
}
