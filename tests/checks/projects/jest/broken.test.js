test("is cut off", () => {
