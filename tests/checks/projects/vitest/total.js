export const total = (prices) => prices.reduce((sum, price) => sum + price, 1);
export const label = (item) => item.name.toUpperCase();
